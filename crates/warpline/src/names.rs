//! Enums whose values have names: `names!` declares one together with its names, both ways.
//!
//! Every choice that a user makes by a name (engine, pending set, policies of Time Warp) is
//! declared here, so that all of them list, print and parse their names in the same way. Only the
//! pools are named where they are: in [`warpline_memory`], which is below this crate.

/// Declares an enum of values with names, and its default value. The literal after `as` is the key
/// that a [`ConfigError`](crate::ConfigError) states when a name is unknown.
macro_rules! names {
    (
        $(#[$doc:meta])* $vis:vis enum $enum:ident as $key:literal, default $default:ident;
        $($(#[$value_doc:meta])* $value:ident = $name:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $enum { $($(#[$value_doc])* $value,)* }

        impl $enum {
            /// Every value.
            $vis const ALL: &'static [Self] = &[$(Self::$value,)*];

            /// The name on the command line and in reports.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)* }
            }
        }

        impl Default for $enum {
            fn default() -> Self {
                Self::$default
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = $crate::ConfigError;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                    let allowed = format!("one of {}", names.join(", "));
                    $crate::ConfigError::new($key, name, allowed)
                })
            }
        }
    };
}

pub(crate) use names;

#[cfg(test)]
mod tests {
    names! {
        /// For the test.
        enum Fruit as "fruit", default Pear;
        Apple = "apple";
        Pear = "pear";
    }

    #[test]
    fn names_go_both_ways() {
        assert_eq!(Fruit::default(), Fruit::Pear);
        for &fruit in Fruit::ALL {
            assert_eq!(fruit.to_string().parse(), Ok(fruit));
        }
        let error = "plum".parse::<Fruit>().unwrap_err();
        assert_eq!(error.to_string(), "`fruit` is plum, but must be one of apple, pear");
    }
}
