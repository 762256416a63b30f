//! Servers that crash, shut down or speak TLS. Each test has a server of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::time::{Duration, Instant};

use postgres::{Database, Settings, Transaction};
use replication::{Event, ReplicationSettings, ReplicationStream, Value, slot};
use rustix::process::{Pid, Signal, kill_process};
use testkit::embedded::{Cluster, Options};

use crate::harness::{PATIENCE, next, transaction};

/// Starts a cluster in `folder`, on any free port.
async fn start(folder: &Path) -> Cluster {
    Cluster::start(Options { port: Some(0), search: testkit::search(), ..Options::new(folder) })
        .await
        .unwrap()
}

/// Returns the cluster's database with a published table and a slot, and the settings of the stream.
async fn database(cluster: &Cluster) -> (Database, ReplicationSettings) {
    let database = Database::connect(Settings::new(cluster.login())).await.unwrap();
    let tables = "create table public.t (id int primary key); create publication p for table public.t";
    database.client().await.unwrap().batch_execute(tables).await.unwrap();
    slot::ensure(&database, "s").await.unwrap();
    let mut settings = ReplicationSettings::new("s", ["p"]);
    settings.status_interval = Duration::from_millis(50);
    (database, settings)
}

/// Opens a stream as soon as the server and the slot allow it.
async fn stream(database: &Database, settings: &ReplicationSettings) -> ReplicationStream {
    let start = Instant::now();
    loop {
        match ReplicationStream::open(database, settings).await {
            Err(error) if start.elapsed() < PATIENCE => {
                assert!(error.is_slot_active() || error.is_unavailable(), "{error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            stream => return stream.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_shutdown_is_not_delayed() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await;
    let (database, mut settings) = database(&cluster).await;
    // Otherwise the next regular status would confirm it in time.
    settings.status_interval = PATIENCE;
    let mut stream = stream(&database, &settings).await;
    let client = database.client().await.unwrap();
    client
        .batch_execute("insert into public.t values (1); create table public.unpublished ()")
        .await
        .unwrap();
    let reader = tokio::spawn(async move {
        loop {
            match stream.next().await {
                Ok(Event::Commit { end, .. } | Event::Keepalive { end }) => stream.confirm(end),
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    });
    let start = Instant::now();
    cluster.stop().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(reader.await.unwrap().is_unavailable());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_repeated_when_connections_and_the_server_are_killed() {
    const ROWS: i32 = 4000;
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await;
    let (database, mut settings) = database(&cluster).await;

    let writer = tokio::spawn({
        let database = database.clone();
        async move {
            for id in 0..ROWS {
                let sql = format!("insert into public.t values ({id}) on conflict do nothing");
                // Repeated until the server has confirmed it.
                while database.run(&Transaction::anonymous().statement(&*sql, Vec::new())).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    });
    let killer = tokio::spawn({
        let (database, pid_file) = (database.clone(), folder.path().join("postgres/postmaster.pid"));
        async move {
            for round in 0..6 {
                tokio::time::sleep(Duration::from_millis(400)).await;
                if round % 3 == 2 {
                    let pid = fs::read_to_string(&pid_file).unwrap().lines().next().unwrap().parse().unwrap();
                    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
                } else {
                    // The server may be down, or the slot may be free, at this moment.
                    let _ = slot::release(&database, "s").await;
                }
            }
        }
    });
    let mut found = BTreeSet::new();
    let (mut rows, mut breaks) = (0, 0);
    let all = async {
        while found.len() < usize::try_from(ROWS).unwrap() {
            let mut stream = stream(&database, &settings).await;
            let mut pending = Vec::new();
            // Each row is a transaction, which is confirmed as soon as it has arrived.
            while found.len() < usize::try_from(ROWS).unwrap() {
                match stream.next().await {
                    Ok(Event::Insert { new, .. }) => {
                        pending.push(new.get(0).and_then(Value::text).unwrap().parse::<i32>().unwrap());
                    }
                    Ok(Event::Commit { end, .. }) => {
                        rows += pending.len();
                        found.extend(pending.drain(..));
                        stream.confirm(end);
                    }
                    Ok(Event::Keepalive { end }) => stream.confirm(end),
                    Ok(_) => {}
                    Err(error) => {
                        assert!(error.is_unavailable(), "{error}");
                        breaks += 1;
                        settings.resume = Some(stream.resume_point());
                        break;
                    }
                }
            }
        }
    };
    tokio::time::timeout(2 * PATIENCE, all).await.unwrap();
    killer.await.unwrap();
    writer.await.unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), (0..ROWS).collect::<Vec<_>>());
    assert_eq!(rows, ROWS.cast_unsigned() as usize, "none came twice");
    assert!(breaks >= 2, "{breaks}");
    cluster.stop().await;
}

#[tokio::test]
async fn a_reader_that_is_stuck_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await;
    let (database, settings) = database(&cluster).await;
    let mut stuck = stream(&database, &settings).await;
    let client = database.client().await.unwrap();
    client.batch_execute("insert into public.t select generate_series(1, 300000)").await.unwrap();
    // From here on it reads nothing, so the server process is blocked because its buffer is full, even for its last
    // message.
    next(&mut stuck).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(slot::release(&database, "s").await.unwrap());
    let mut stream = ReplicationStream::open(&database, &settings).await.unwrap();
    assert_eq!(transaction(&mut stream).await.len(), 300_000);
    stream.close().await.unwrap();
    cluster.stop().await;
}

#[tokio::test]
async fn the_stream_is_encrypted_according_to_sslmode() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await;
    let (database, mut settings) = database(&cluster).await;
    let mut server = cluster.tcp_login(cluster.superuser(), cluster.password()).unwrap();
    server.set("sslmode", "require");
    settings.server = Some(server.clone());
    let refused = ReplicationStream::open(&database, &settings).await.unwrap_err();
    assert!(refused.to_string().contains("does not offer TLS"), "{refused}");

    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let data = folder.path().join("postgres");
    let owner = fs::metadata(&data).unwrap();
    for (name, text) in [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())] {
        let file = data.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    let client = database.client().await.unwrap();
    client.batch_execute("alter system set ssl = on").await.unwrap();
    client.batch_execute("select pg_reload_conf()").await.unwrap();
    let root = folder.path().join("root.crt");
    fs::write(&root, certificate.pem()).unwrap();
    server.set("sslmode", "verify-full");
    server.set("sslrootcert", root.to_string_lossy());
    settings.server = Some(server);
    let begin = Instant::now();
    let mut stream = loop {
        match ReplicationStream::open(&database, &settings).await {
            Err(_) if begin.elapsed() < PATIENCE => tokio::time::sleep(Duration::from_millis(50)).await,
            stream => break stream.unwrap(),
        }
    };
    let is_encrypted = format!("select ssl from pg_stat_ssl where pid = {}", stream.process_id());
    assert!(client.query_one(&is_encrypted, &[]).await.unwrap().get::<_, bool>(0));
    client.batch_execute("insert into public.t select generate_series(1, 20000)").await.unwrap();
    let events = transaction(&mut stream).await;
    assert_eq!((events.len(), events.last().map(String::as_str)), (20_000, Some("insert t (20000)")));
    while let Event::Keepalive { end } = next(&mut stream).await {
        stream.confirm(end);
        if slot::lag(&database, "s").await.unwrap().unwrap().confirmed_position == Some(end) {
            break;
        }
        stream.flush_confirmation().await.unwrap();
        client.batch_execute("select pg_logical_emit_message(true, '', '')").await.unwrap();
    }
    stream.close().await.unwrap();
    assert_eq!(slot::lag(&database, "s").await.unwrap().unwrap().active_pid, None);
    cluster.stop().await;
}
