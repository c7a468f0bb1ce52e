"""The gradebook in the formats that learning platforms import."""
