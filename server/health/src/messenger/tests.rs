use futures_util::FutureExt as _;
use parking_lot::Mutex;

use super::*;
use crate::check::{Check, Scope};
use crate::memory::Memory;
use crate::problem::{Finding, Severity};

/// A check that finds what is in it.
struct Found(Scope, Arc<Mutex<Vec<Finding>>>);

impl Check for Found {
    fn name(&self) -> &'static str {
        if self.0 == Scope::Node { "disk" } else { "slots" }
    }

    fn scope(&self) -> Scope {
        self.0
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let found = self.1.lock().clone();
        async { Ok(found) }.boxed()
    }
}

/// A messenger, what its checks find (of the machine, and of the database), and the mails that it has sent.
struct Stage {
    monitor: Monitor,
    messenger: Messenger,
    of_node: Arc<Mutex<Vec<Finding>>>,
    of_database: Arc<Mutex<Vec<Finding>>>,
    mails: Arc<Mutex<Vec<Letter>>>,
}

impl Stage {
    fn new(has_lead: bool, outcome: Result<(), String>) -> Self {
        let (of_node, of_database) = (Arc::<Mutex<Vec<Finding>>>::default(), Arc::<Mutex<_>>::default());
        let checks: Vec<Box<dyn Check>> = vec![
            Box::new(Found(Scope::Node, Arc::clone(&of_node))),
            Box::new(Found(Scope::Database, Arc::clone(&of_database))),
        ];
        let monitor = Monitor::new(checks, Memory::new(None, |_| Ok(())));
        let mails = Arc::<Mutex<Vec<Letter>>>::default();
        let sent = Arc::clone(&mails);
        let mail: MailSender = Arc::new(move |letter| {
            sent.lock().push(letter);
            let outcome = outcome.clone();
            async { outcome }.boxed()
        });
        let settings = Settings { mail_to: Some("ops@shop.example".to_owned()), ..Settings::default() };
        let delivery = Arc::new(RwLock::new(Delivery { settings, mail: Some(mail) }));
        let about = About { server: "https://shop.example".to_owned(), node: "n1".to_owned(), project: None };
        let lead: Lead = Box::new(move || async move { has_lead }.boxed());
        let messenger = Messenger::new(monitor.clone(), delivery, about, lead);
        Self { monitor, messenger, of_node, of_database, mails }
    }

    /// Looks, and considers the list as that of the time `after` the start. Returns the subjects of the mails since.
    async fn look(&mut self, begin: OffsetDateTime, after: time::Duration) -> Vec<String> {
        let list = self.monitor.look().await;
        let list = List { checked_at: begin + after, ..(*list).clone() };
        self.messenger.consider(&list).await;
        self.mails.lock().drain(..).map(|mail| mail.subject).collect()
    }
}

fn finding(severity: Severity) -> Finding {
    let texts = ["It is full".to_owned(), "Enlarge it".to_owned()];
    Finding::warning("disk_fills", "data", texts).critical_if(severity == Severity::Critical)
}

/// Noon of a day.
fn noon() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_800_014_400).unwrap().replace_time(time::macros::time!(12:00))
}

#[tokio::test]
async fn warnings_are_told_once_a_day_and_nothing_is_if_all_is_well() {
    let (mut stage, begin) = (Stage::new(true, Ok(())), noon());
    stage.messenger.daily_until = begin;
    let hours = time::Duration::hours;
    assert_eq!(stage.look(begin, hours(19)).await, [""; 0], "nothing is wrong at six o'clock");
    stage.of_node.lock().push(finding(Severity::Warning));
    assert_eq!(stage.look(begin, hours(20)).await, [""; 0]);
    assert_eq!(stage.look(begin, hours(41)).await, [""; 0]);
    assert_eq!(stage.look(begin, hours(42)).await, ["https://shop.example: 1 problem"]);
    assert_eq!(stage.look(begin, hours(43)).await, [""; 0]);
    assert_eq!(stage.look(begin, hours(66)).await, ["https://shop.example: 1 problem"]);
}

#[tokio::test]
async fn a_critical_problem_is_told_at_once_and_once() {
    let (mut stage, begin) = (Stage::new(true, Ok(())), noon());
    stage.messenger.daily_until = begin;
    let minutes = time::Duration::minutes;
    stage.of_node.lock().push(finding(Severity::Critical));
    let told = ["https://shop.example: 1 problem (1 critical)"];
    assert_eq!(stage.look(begin, minutes(1)).await, told);
    assert_eq!(stage.look(begin, minutes(30)).await, [""; 0]);
    // It comes and goes.
    for minute in 31..36 {
        stage.of_node.lock().clear();
        stage.look(begin, minutes(minute)).await;
        stage.of_node.lock().push(finding(Severity::Critical));
        let subjects = stage.look(begin, minutes(minute)).await;
        assert_eq!(subjects.len(), usize::from(minute == 31), "{minute}");
    }
    assert_eq!(stage.look(begin, minutes(45)).await, told, "the last one was not told yet");
}

#[tokio::test]
async fn a_warning_that_was_told_is_told_again_when_it_becomes_critical() {
    let (mut stage, begin) = (Stage::new(true, Ok(())), noon());
    stage.messenger.daily_until = begin;
    stage.of_node.lock().push(finding(Severity::Warning));
    let hours = time::Duration::hours;
    assert_eq!(stage.look(begin, hours(18)).await, ["https://shop.example: 1 problem"]);
    *stage.of_node.lock() = vec![finding(Severity::Critical)];
    assert_eq!(stage.look(begin, hours(19)).await, ["https://shop.example: 1 problem (1 critical)"]);
    // Between the two it hovers around the threshold.
    *stage.of_node.lock() = vec![finding(Severity::Warning)];
    assert_eq!(stage.look(begin, hours(20)).await, [""; 0]);
    *stage.of_node.lock() = vec![finding(Severity::Critical)];
    assert_eq!(stage.look(begin, hours(21)).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_nobody_takes_is_tried_again_later() {
    let (mut stage, begin) = (Stage::new(true, Err("refused".to_owned())), noon());
    stage.messenger.daily_until = begin;
    stage.of_node.lock().push(finding(Severity::Critical));
    assert_eq!(stage.look(begin, time::Duration::minutes(1)).await.len(), 3);
    assert_eq!(stage.look(begin, time::Duration::minutes(2)).await.len(), 0);
    assert_eq!(stage.look(begin, time::Duration::minutes(12)).await.len(), 3);
}

#[tokio::test]
async fn of_several_servers_one_tells_of_what_all_of_them_see() {
    for (has_lead, of_database) in [(true, 1), (false, 0)] {
        let (mut stage, begin) = (Stage::new(has_lead, Ok(())), noon());
        stage.messenger.daily_until = begin;
        stage.of_database.lock().push(finding(Severity::Critical));
        assert_eq!(stage.look(begin, time::Duration::minutes(1)).await.len(), of_database);
        stage.of_node.lock().push(finding(Severity::Critical));
        let subjects = stage.look(begin, time::Duration::minutes(20)).await;
        let count = of_database + 1;
        assert!(subjects[0].ends_with(&format!("({count} critical)")), "{subjects:?}");
    }
}

#[test]
fn the_message_says_what_is_wrong_since_when_and_what_to_do() {
    let problem =
        Problem { finding: finding(Severity::Critical), since: noon(), is_shared: false, is_told: false };
    let about = About { server: "https://shop.example".to_owned(), node: "n1".to_owned(), project: None };
    let message = Message { about: &about, event: Event::Critical, now: noon(), problems: &[problem] };
    let expected = "https://shop.example: 1 problem (1 critical)\nOn n1\n\nCRITICAL disk_fills: data\nIt is full.\n\
                    Since 2027-01-15T12:00:00Z\nTo do: Enlarge it.\n";
    assert_eq!(message.text(), expected);
    let body = message.body();
    assert_eq!((&body["event"], &body["text"]), (&json!("critical"), &json!(expected)));
    assert_eq!(
        body["problems"],
        json!([{
            "name": "disk_fills", "severity": "critical", "subject": "data", "what": "It is full",
            "remedy": "Enlarge it", "since": "2027-01-15T12:00:00Z",
        }])
    );
}

#[tokio::test]
async fn a_webhook_gets_the_list_and_its_refusal_is_an_error_without_the_url() {
    use poem::listener::{Acceptor as _, Listener as _, TcpListener};
    let _ = rustls::crypto::ring::default_provider().install_default();
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.unwrap();
    let address = acceptor.local_addr()[0].as_socket_addr().unwrap().to_owned();
    let endpoint = poem::endpoint::make(async |mut request: poem::Request| {
        let body = request.take_body().into_string().await.unwrap_or_default();
        let is_known = request.uri().path() == "/token" && body.contains("disk_fills");
        Ok::<_, poem::Error>(if is_known { http::StatusCode::OK } else { http::StatusCode::GONE })
    });
    let server = tokio::spawn(poem::Server::new_with_acceptor(acceptor).run(endpoint));
    let post = async |path: &str| {
        let url = format!("http://{address}{path}").into();
        crate::webhook::post(&url, &json!({ "problems": [{ "name": "disk_fills" }] })).await
    };
    assert_eq!(post("/token").await, Ok(()));
    let error = post("/secret").await.unwrap_err();
    assert!(error.contains("410") && !error.contains("secret"), "{error}");
    server.abort();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error =
        crate::webhook::post(&format!("http://{closed}/secret").into(), &json!({})).await.unwrap_err();
    assert!(!error.contains("secret"), "{error}");
}
