//! Sends what is due in a conversation, in order, through the provider.
