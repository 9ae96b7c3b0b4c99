//! Enumerations whose values have words: one table each, from which the words are listed, read and shown.

/// `words!(Type { Value: "WORD", ... })`. A value without a word does not compile. The attributes are those of `NAMES`.
macro_rules! words {
    ($(#[$names:meta])* $type:ident { $($value:ident: $word:literal),+ $(,)? }) => {
        impl $type {
            $(#[$names])*
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// Reads a word.
            pub fn parse(text: &str) -> Result<Self, $crate::text::Unfit> {
                match text {
                    $($word => Ok(Self::$value),)+
                    _ => Err($crate::text::Unfit::NotOneOf { expected: Self::NAMES }),
                }
            }

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// Each value, in the order of the words.
            #[cfg(test)]
            #[allow(dead_code, reason = "not every table is walked through by a test")]
            pub(crate) const ALL: [Self; Self::NAMES.len()] = [$(Self::$value),+];
        }
    };
}

pub(crate) use words;
