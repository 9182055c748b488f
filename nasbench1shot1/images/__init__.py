"""Images: bundled, imported or downloaded image sets; splits, batches and augmentation."""
