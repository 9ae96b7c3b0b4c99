//! Enumerations with a name for each value. One table lists, parses and shows the names.

/// `words!(Type { Value: "WORD", ... })`. A value without a name does not compile. The attributes apply to
/// `NAMES`.
macro_rules! words {
    ($(#[$names:meta])* $type:ident { $($value:ident: $word:literal),+ $(,)? }) => {
        impl $type {
            $(#[$names])*
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// Parses a name.
            pub fn parse(text: &str) -> Result<Self, $crate::text::Unfit> {
                match text {
                    $($word => Ok(Self::$value),)+
                    _ => Err($crate::text::Unfit::NotOneOf { expected: Self::NAMES }),
                }
            }

            /// The name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// All values, in the order of the names.
            #[cfg(test)]
            #[allow(dead_code, reason = "not every table is walked through by a test")]
            pub(crate) const ALL: [Self; Self::NAMES.len()] = [$(Self::$value),+];
        }
    };
}

pub(crate) use words;
