//! Detection of a peer that has gone without closing the connection: TCP probes an idle connection, and fails if data
//! is not acknowledged.
//!
//! Source of the names: PostgreSQL documentation, section 34.1.2.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;
use tokio_postgres::Config;

use crate::conninfo::Conninfo;
use crate::error::Error;

/// The defaults of parameters. libpq leaves them to the system, which waits for hours.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVES_COUNT: u32 = 3;
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);

/// Applies the parameters to `config`. A zero is the system's default, as with libpq.
///
/// Errors: [`Error::Configuration`] for a value that is not a number.
pub(crate) fn configure(config: &mut Config, parameters: &Conninfo) -> Result<(), Error> {
    let number = |name: &str| match parameters.get(name).map(str::parse::<u32>) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => {
            Err(Error::Configuration(format!("{name} in the database URI: expected a whole number")))
        }
    };
    let seconds = |name: &str, default| {
        let number = number(name)?;
        Ok::<_, Error>(number.map_or(default, |number| Duration::from_secs(number.into())))
    };
    config.keepalives(number("keepalives")? != Some(0));
    let idle = seconds("keepalives_idle", KEEPALIVES_IDLE)?;
    if !idle.is_zero() {
        config.keepalives_idle(idle);
    }
    let interval = seconds("keepalives_interval", KEEPALIVES_INTERVAL)?;
    if !interval.is_zero() {
        config.keepalives_interval(interval);
    }
    let count = number("keepalives_count")?.unwrap_or(KEEPALIVES_COUNT);
    if count > 0 {
        config.keepalives_retries(count);
    }
    let timeout = number("tcp_user_timeout")?;
    let timeout = timeout.map_or(TCP_USER_TIMEOUT, |milliseconds| Duration::from_millis(milliseconds.into()));
    if !timeout.is_zero() {
        config.tcp_user_timeout(timeout);
    }
    Ok(())
}

/// Applies `config` to the socket of a connection.
///
/// Errors: those of the system, which may limit the values.
pub(crate) fn apply(config: &Config, stream: &TcpStream) -> io::Result<()> {
    if config.get_keepalives() {
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, config.get_keepalives_idle())?;
        if let Some(interval) = config.get_keepalives_interval() {
            sockopt::set_tcp_keepintvl(stream, interval)?;
        }
        if let Some(count) = config.get_keepalives_retries() {
            sockopt::set_tcp_keepcnt(stream, count)?;
        }
    }
    #[cfg(target_os = "linux")]
    if let Some(timeout) = config.get_tcp_user_timeout() {
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn configured(text: &str) -> Result<Config, Error> {
        let mut config = Config::new();
        configure(&mut config, &text.parse()?).map(|()| config)
    }

    #[tokio::test]
    async fn sockets_have_the_options_of_the_connection_string() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        for (parameters, expected) in [
            ("", (true, 5, 2, 3, 10_000)),
            (
                "keepalives_idle=60 keepalives_interval=9 keepalives_count=7 tcp_user_timeout=2500",
                (true, 60, 9, 7, 2500),
            ),
        ] {
            let stream = TcpStream::connect(address).await.unwrap();
            apply(&configured(&format!("host=h {parameters}")).unwrap(), &stream).unwrap();
            let actual = (
                sockopt::socket_keepalive(&stream).unwrap(),
                sockopt::tcp_keepidle(&stream).unwrap().as_secs(),
                sockopt::tcp_keepintvl(&stream).unwrap().as_secs(),
                sockopt::tcp_keepcnt(&stream).unwrap(),
                sockopt::tcp_user_timeout(&stream).unwrap(),
            );
            assert_eq!(actual, expected, "{parameters}");
        }
        let stream = TcpStream::connect(address).await.unwrap();
        let off = "host=h keepalives=0 tcp_user_timeout=0";
        apply(&configured(off).unwrap(), &stream).unwrap();
        assert!(!sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), 0);
        assert!(configured("host=h keepalives_idle=soon").is_err());
    }
}
