#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

mod ready;

/// A running server. It ends when it is dropped, and when this process ends, and leaves nothing behind.
#[derive(Debug)]
pub struct Server {
    child: Child,
    url: String,
    insecure_url: Option<String>,
    ca: String,
    token: String,
    kubeconfig: String,
    lab_page: Option<String>,
}

/// How a server starts.
#[derive(Debug, Clone)]
pub struct Options {
    binary: OsString,
    flags: Vec<OsString>,
}

impl Default for Options {
    /// The program that `MINIAPISERVER_BINARY` in the environment names, or else `miniapiserver` in `PATH`.
    fn default() -> Options {
        let binary = std::env::var_os("MINIAPISERVER_BINARY").unwrap_or_else(|| "miniapiserver".into());
        Options { binary, flags: Vec::new() }
    }
}

impl Options {
    /// Starts another program.
    pub fn binary(mut self, path: impl Into<OsString>) -> Options {
        self.binary = path.into();
        self
    }

    /// Adds a flag of the server, such as `--emulated-version=1.36`.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Options {
        self.flags.push(flag.into());
        self
    }

    /// Starts a server with the lab on a free port of 127.0.0.1, and waits until it is ready, which takes a fraction of a
    /// second. The server writes its log to the standard error of this process.
    pub fn start(&self) -> io::Result<Server> {
        let name = self.binary.to_string_lossy();
        let mut child = Command::new(&self.binary)
            .args(["--ephemeral", "--secure-port=0", "--lab", "--output=json", "--stdin-lifetime"])
            .args(&self.flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}; name a server in MINIAPISERVER_BINARY")))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.as_mut() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.is_empty() {
            let status = child.wait()?;
            return Err(io::Error::new(io::ErrorKind::Other, format!("{name} ended with {status} before it was ready")));
        }
        let required = |field: &str| {
            let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("{name} printed no {field}"));
            ready::text(&line, field).ok_or_else(missing)
        };
        Ok(Server {
            url: required("url")?,
            ca: required("ca")?,
            token: required("token")?,
            kubeconfig: required("kubeconfig")?,
            insecure_url: ready::text(&line, "insecureURL"),
            lab_page: ready::text(&line, "labPage"),
            child,
        })
    }
}

impl Server {
    /// Starts a server with the default [`Options`].
    pub fn start() -> io::Result<Server> {
        Options::default().start()
    }

    /// The address, such as `https://127.0.0.1:38417`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of the port for plain HTTP, if the server was started with the flag `--insecure-port=-1`. Everybody on
    /// the machine is an administrator there, without credentials.
    pub fn insecure_url(&self) -> Option<&str> {
        self.insecure_url.as_deref()
    }

    /// The PEM of the certificate authority of the address.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// The bearer token of the administrator.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The path of a kubeconfig with the administrator's access.
    pub fn kubeconfig(&self) -> &Path {
        Path::new(&self.kubeconfig)
    }

    /// The address of the page of the lab, for a browser.
    pub fn lab_page(&self) -> Option<&str> {
        self.lab_page.as_deref()
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait(); // nobody is left to whom an error matters
    }
}
