"""Models with fewer weights: zeros in place of small ones, and no channels that nothing depends on."""
