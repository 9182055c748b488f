"""Plans: what runs need before they start, as frames, screens and pages."""
