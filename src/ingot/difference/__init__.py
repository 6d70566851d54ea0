"""What differs between two models, aligned by structure."""
