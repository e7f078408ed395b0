"""Images: a corpus made by a seeded script, a judge that is not ours, and the promises about them."""
