"""Images: what is carried, imported or downloaded; how it is split, batched and augmented."""
