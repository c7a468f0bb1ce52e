"""Where submissions come from: folders, archives, and the downloads of learning platforms."""
