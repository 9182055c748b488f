"""What tables of estimates are made from: measurements, a regression, their combination, and tests of the result."""
