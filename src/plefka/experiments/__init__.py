"""The paper's experiments again: a frozen configuration, a compute that writes rows, and a render that only reads them."""
