//! Starts a server, writes, watches and rewinds. The standard library has no TLS, so the program uses the server's port
//! for plain HTTP; clients of Kubernetes use the kubeconfig.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use miniapiserver::{Options, Server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Sends a request and returns its status and a reader of the body.
fn send(server: &Server, method: &str, path: &str, body: &str) -> io::Result<(u16, BufReader<TcpStream>)> {
    let address = server.insecure_url().and_then(|url| url.strip_prefix("http://")).expect("a port for plain HTTP");
    let mut stream = TcpStream::connect(address)?;
    // HTTP/1.0 has neither chunks nor connections that stay open.
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    Ok((status, reader))
}

/// Sends a request that has to succeed and returns the body of the response.
fn request(server: &Server, method: &str, path: &str, body: &str) -> io::Result<String> {
    let (status, mut reader) = send(server, method, path, body)?;
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    assert!(status < 300, "{method} {path}: {status} {text}");
    Ok(text)
}

/// Creates an object of the lab.
fn create(server: &Server, resource: &str, kind: &str, metadata: &str, spec: &str) -> io::Result<String> {
    let group = "lab.miniapiserver.io/v1alpha1";
    let object = format!(r#"{{"apiVersion":"{group}","kind":"{kind}","metadata":{metadata},"spec":{spec}}}"#);
    request(server, "POST", &format!("/apis/{group}/{resource}"), &object)
}

#[test]
fn a_watch_sees_writes_and_the_rewind() -> io::Result<()> {
    let server = Options::default().flag("--insecure-port=-1").start()?;
    create(&server, "checkpoints", "Checkpoint", r#"{"name":"empty"}"#, "{}")?;

    let (status, events) = send(&server, "GET", &format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dbasket"), "")?;
    assert_eq!(status, 200);
    let mut events = events.lines();
    let mut expect = |kind: &str| -> io::Result<()> {
        let event = events.next().expect("an event")?;
        assert!(event.starts_with(&format!(r#"{{"type":"{kind}""#)), "{kind}: {event}");
        Ok(())
    };
    for _ in 0..2 {
        request(&server, "POST", CONFIG_MAPS, r#"{"metadata":{"name":"basket"}}"#)?;
        expect("ADDED")?;
        let rewind = create(&server, "rewinds", "Rewind", r#"{"generateName":"rust-"}"#, r#"{"checkpoint":"empty"}"#)?;
        assert!(rewind.contains(r#"{"action":"Removed","object":"configmaps/default/basket"}"#), "{rewind}");
        expect("DELETED")?;
    }
    Ok(())
}

#[test]
fn a_kubeconfig_leads_to_the_server() -> io::Result<()> {
    let server = Server::start()?;
    let kubeconfig = server.kubeconfig().to_owned();
    assert!(std::fs::read_to_string(&kubeconfig)?.contains(server.url()));
    assert!(server.ca().starts_with("-----BEGIN CERTIFICATE-----\n"));
    assert!(!server.token().is_empty());
    assert!(server.lab_page().expect("a page").starts_with("http://127.0.0.1:"));
    assert_eq!(server.insecure_url(), None);
    drop(server);
    assert!(!kubeconfig.exists(), "the server left {}", kubeconfig.display());
    Ok(())
}

#[test]
fn errors_name_the_program() {
    let error = Options::default().flag("--no-such-flag").start().unwrap_err().to_string();
    assert!(error.contains("before it was ready"), "{error}");
    let error = Options::default().binary("/none/miniapiserver").start().unwrap_err().to_string();
    assert!(error.starts_with("/none/miniapiserver: ") && error.contains("MINIAPISERVER_BINARY"), "{error}");
}
