"""Files of a workspace for people: tree, search, read, write, upload, download, previews. All through the jail."""
