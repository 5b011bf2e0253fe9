//! What a command does that is called without a subcommand: a run that its author chose.
//!
//! Called by [`run`](crate::run), with what
//! [`Application::demonstrating`](crate::Application::demonstrating) was given.

/// A run that a command makes if it is called without a subcommand, and what it says around it.
///
/// ```
/// # use warpline_cli::Demonstration;
/// let week = Demonstration {
///     title: "a week of a bank with sixteen branches",
///     arguments: &["run", "bank", "--end", "10080"],
///     call: "cargo run --release --",
///     next: &[("run bank --service 3", "with slower tellers")],
///     more: "",
/// };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// What is simulated.
    pub title: &'static str,
    /// The arguments of the run.
    pub arguments: &'static [&'static str],
    /// How the command is called where the demonstration is seen, without arguments.
    pub call: &'static str,
    /// What to try next: arguments, and what they are for.
    pub next: &'static [(&'static str, &'static str)],
    /// What is said last; nothing, if it is empty.
    pub more: &'static str,
}

impl Demonstration {
    /// What the help says of it.
    pub(crate) fn help(&self, name: &str) -> String {
        format!("Without a command, `{name}` simulates {}.", self.title)
    }

    /// What is said before the run.
    pub(crate) fn before(&self, name: &str) -> String {
        let arguments = self.arguments.join(" ");
        format!("Simulating {}\n(the same as `{name} {arguments}`)\n", self.title)
    }

    /// What to try next, with the explanations below each other.
    pub(crate) fn what_next(&self, name: &str) -> String {
        let width = self.next.iter().filter(|(_, what)| !what.is_empty());
        let width = width.map(|(arguments, _)| arguments.len()).max().unwrap_or(0);
        let mut text = format!("\nWhat to try next (`{name}` is `{}` here):\n", self.call);
        for (arguments, what) in self.next {
            let line = format!("  {name} {arguments:width$}   {what}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if !self.more.is_empty() {
            text.push('\n');
            text.push_str(self.more);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_to_try_next_in_columns() {
        let demonstration = Demonstration {
            title: "a bank",
            arguments: &["run", "bank"],
            call: "cargo run --",
            next: &[("run bank --end 1", "a minute"), ("run", "less"), ("run a --long one", "")],
            more: "That is all.",
        };
        let text = demonstration.what_next("bank");
        let expected = "\nWhat to try next (`bank` is `cargo run --` here):\
                        \n  bank run bank --end 1   a minute\
                        \n  bank run                less\
                        \n  bank run a --long one\
                        \n\nThat is all.\n";
        assert_eq!(text, expected);
        let before = "Simulating a bank\n(the same as `bank run bank`)\n";
        assert_eq!(demonstration.before("bank"), before);
        assert_eq!(demonstration.help("bank"), "Without a command, `bank` simulates a bank.");
    }
}
