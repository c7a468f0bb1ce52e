"""The hidden tests of the course. Students never receive this folder."""
