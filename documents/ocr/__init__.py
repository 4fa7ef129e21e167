"""Reading pictures of text: engines behind one interface, and the reader that rations them."""
