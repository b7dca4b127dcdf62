"""Data of the local model: the vocabulary of uncased BERT (Apache-2.0, Google Research), see NOTICE."""
