//! Sign-in messages of blockchain wallets: Ethereum's (ERC-4361, "SIWE") and Solana's ("SIWS"), which has the same
//! text form.

mod ethereum;
mod message;
mod solana;

pub(crate) use message::Message;

::settings::words! {
    /// A blockchain whose wallets may sign in, by the name that clients send and identities keep.
    pub(crate) enum Chain {
        Ethereum = "ethereum",
        Solana = "solana",
    }
}

impl Chain {
    /// Returns the name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Ethereum => "Ethereum",
            Self::Solana => "Solana",
        }
    }
}

/// Fewest bytes of a message.
const SHORTEST: usize = 64;
/// Most bytes of a message.
const LONGEST: usize = 20 << 10;

/// A message whose text is in order and whose signature has the right form, but which is not yet verified.
#[derive(Debug)]
pub(crate) struct SignedMessage<'a> {
    chain: Chain,
    pub(crate) message: Message<'a>,
    signature: Vec<u8>,
}

impl<'a> SignedMessage<'a> {
    /// Reads `message` and `signature`: 0x and 130 hexadecimal digits for Ethereum, base64 of 64 bytes for Solana.
    ///
    /// Errors: a sentence for the developer of the client, as upstream's.
    pub(crate) fn parse(chain: Chain, message: &'a str, signature: &str) -> Result<Self, String> {
        if message.len() < SHORTEST {
            return Err("message is too short".to_owned());
        }
        if message.len() > LONGEST {
            return Err("message must not exceed 20KB".to_owned());
        }
        let signature = match chain {
            Chain::Ethereum => ethereum::signature(signature)?,
            Chain::Solana => solana::signature(signature)?,
        };
        Ok(SignedMessage { chain, message: Message::parse(message, chain)?, signature })
    }

    /// Returns whether the account that the message names has signed it.
    pub(crate) fn verify(&self) -> bool {
        match self.chain {
            Chain::Ethereum => ethereum::verify(&self.message, &self.signature),
            Chain::Solana => solana::verify(&self.message, &self.signature),
        }
    }
}
