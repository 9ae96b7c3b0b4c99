//! The ports of one stack, all on 127.0.0.1.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::Problem;

/// Seven consecutive ports from a base, or free ones. 0 means that the operating system selects a free port when it
/// is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The emulator, which serves both APIs. This is the base.
    pub emulator: u16,
    /// The receiver over HTTPS.
    pub receiver: u16,
    /// The receiver's ledger over HTTP.
    pub receiver_ledger: u16,
    /// The captcha simulator.
    pub captcha: u16,
    /// The provider simulator.
    pub provider: u16,
    /// The demo's landing page, at the origin that may send leads.
    pub landing: u16,
    /// The same page at an origin that may not send leads.
    pub foreign_landing: u16,
}

impl Ports {
    /// The default base.
    pub const DEFAULT_BASE: u16 = 8787;

    /// The ports from this base, after a check that they are free. A base of 0 selects free ones.
    ///
    /// # Errors
    /// If a port is taken. The sentence names the port and the solution.
    pub fn claim(base: u16) -> Result<Self, Problem> {
        if base == 0 {
            return Self::free();
        }
        let ports = Self::from_base(base)?;
        for (port, user) in ports.named() {
            check_free(port, user, base)?;
        }
        Ok(ports)
    }

    fn from_base(base: u16) -> Result<Self, Problem> {
        if base > u16::MAX - 6 {
            return Err(Problem::new(format!(
                "PORT={base} leaves no room for the six ports after it: choose one up to {}.",
                u16::MAX - 6
            )));
        }
        Ok(Self {
            emulator: base,
            receiver: base + 1,
            receiver_ledger: base + 2,
            captcha: base + 3,
            provider: base + 4,
            landing: base + 5,
            foreign_landing: base + 6,
        })
    }

    /// The emulator is another process, so its port must be known before it starts. The other servers get a free port
    /// when they open it.
    fn free() -> Result<Self, Problem> {
        let emulator = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| Problem::of("No free port can be found", error))?
            .port();
        Ok(Self {
            emulator,
            receiver: 0,
            receiver_ledger: 0,
            captcha: 0,
            provider: 0,
            landing: 0,
            foreign_landing: 0,
        })
    }

    const fn named(&self) -> [(u16, &'static str); 7] {
        [
            (self.emulator, "the emulator"),
            (self.receiver, "the webhook receiver"),
            (self.receiver_ledger, "the receiver's ledger"),
            (self.captcha, "the captcha simulator"),
            (self.provider, "the provider simulator"),
            (self.landing, "the landing page"),
            (self.foreign_landing, "the foreign landing page"),
        ]
    }
}

fn check_free(port: u16, user: &str, base: u16) -> Result<(), Problem> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Problem::new(format!(
            "Port {port} ({user}) is taken: stop the program that uses it, or choose seven other ports, as in PORT={}.",
            another(base)
        ))),
        Err(error) => Err(Problem::of(&format!("Port {port} ({user}) cannot be opened"), error)),
    }
}

/// A base that differs enough to avoid the ports of this stack and of neighbouring ones.
const fn another(base: u16) -> u16 {
    if base < 60_000 { base + 100 } else { Ports::DEFAULT_BASE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_consecutive_from_the_base() {
        let ports = Ports::from_base(9000).unwrap();
        assert_eq!(ports.named().map(|(port, _)| port), [9000, 9001, 9002, 9003, 9004, 9005, 9006]);
    }

    #[test]
    fn a_base_without_six_ports_after_it_is_refused() {
        assert!(Ports::from_base(u16::MAX - 6).is_ok());
        assert!(Ports::from_base(u16::MAX - 5).is_err());
    }

    #[test]
    fn a_taken_port_is_named_in_one_sentence() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let problem = check_free(port, "the emulator", 8787).unwrap_err();
        assert_eq!(
            problem.to_string(),
            format!(
                "Port {port} (the emulator) is taken: stop the program that uses it, or choose seven other ports, as in PORT=8887."
            )
        );
    }

    #[test]
    fn base_zero_finds_a_port_for_the_emulator() {
        assert_ne!(Ports::claim(0).unwrap().emulator, 0);
    }
}
