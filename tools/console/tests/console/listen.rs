//! `webhook listen`: the server is a receiver on loopback.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use console::Terminal;
use domain::conversation::ConversationChange;
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets, signature};
use domain::{
    Contact, Conversation, ConversationStatus, EndpointSecrets, Event, EventId, EventType, PersonName,
    Timestamp,
};
use harness::{Fault, Pipe, TestBucket, TestFailures, TestQueue, World};
use serde_json::Value;
use store::{Changed, Replaced, Table};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::{ClosedPipe, Counting, Desk, console_of, terminal};

/// A file that passes each line on.
struct Lines {
    begun: Vec<u8>,
    to: UnboundedSender<String>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            // A test that has seen enough no longer reads.
            let _ = self.to.send(String::from_utf8(line).unwrap().trim_end().to_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of a command that runs.
struct Said {
    lines: UnboundedReceiver<String>,
    err: Pipe,
}

impl Said {
    async fn line(&mut self) -> String {
        self.lines.recv().await.unwrap()
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }
}

/// Runs `webhook listen` in the world's workspace beside a script, until the script ends.
async fn listening<T>(
    world: &World,
    url: &str,
    more: &[&str],
    script: impl AsyncFnOnce(Value, Said) -> T,
) -> T {
    let (to, lines) = unbounded_channel();
    let err = Pipe::default();
    let out = Box::new(Lines { begun: vec![], to });
    let mut said = Said { lines, err: err.clone() };
    let script = async {
        let hello = said.json().await;
        script(hello, said).await
    };
    let more = [&["--json"], more].concat();
    tokio::select! {
        status = listen(world, url, &more, out, &err) => panic!("it ended with {status}: {}", err.text()),
        done = script => done,
    }
}

async fn listen(world: &World, url: &str, more: &[&str], out: Box<dyn Write>, err: &Pipe) -> u8 {
    let mut terminal = Terminal { out, ..terminal("", &Pipe::default(), err) };
    let listen = ["console", "webhook", "listen", "--workspace", World::WORKSPACE, "--forward-to", url];
    let line = [&listen, more].concat().into_iter().map(OsString::from);
    let (queue, failures, random) = (TestQueue::default(), TestFailures::default(), Counting::default());
    let media = TestBucket::beside(&world.db);
    let connect = async |_stack| Ok(console_of(&world.db, &queue, &media, &failures, Arc::new(random)));
    let status = console::run(line, connect, &mut terminal).await;
    assert_eq!(queue.take().len(), 0, "it queued a message");
    status
}

/// A server that answers every request in the same way.
async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

async fn got(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.unwrap()
}

/// The name and the value of a header of a request.
fn header(request: &Request, name: &str) -> String {
    request.headers[name].to_str().unwrap().to_owned()
}

async fn contact(world: &World) -> Contact {
    world.contact(|contact| contact.first_name = PersonName::parse("Ana").ok()).await
}

/// Changes the first name, and returns the id of the event.
async fn rename(world: &World, contact: &mut Contact, first_name: &str) -> String {
    let store = world.db.store();
    world.db.clock().advance(Duration::from_secs(1));
    let next = Contact {
        first_name: PersonName::parse(first_name).ok(),
        version: contact.version + 1,
        updated_at: store.now(),
        ..contact.clone()
    };
    let replaced = store.replace_contact(contact, &next, "seed").await.unwrap();
    assert!(matches!(replaced, Replaced::Done), "{replaced:?}");
    *contact = next;
    of_change(EventType::ContactUpdated, contact).to_string()
}

async fn release(world: &World, conversation: &Conversation) {
    let store = world.db.store();
    let (status, updated_at) = (ConversationStatus::Released, store.now());
    let released = Conversation { status, version: 2, updated_at, ..conversation.clone() };
    let change = ConversationChange { conversation: released, new_contacts: vec![] };
    let changed = store.change_conversation(conversation, &change, "seed").await.unwrap();
    assert!(matches!(changed, Changed::Done), "{changed:?}");
}

fn of_change(event_type: EventType, contact: &Contact) -> EventId {
    let Contact { id, workspace_id, version, updated_at, .. } = contact;
    Event::of_change(event_type, *workspace_id, id.as_uuid(), *version, *updated_at).id
}

/// The calls that read.
const READS: [&str; 7] =
    ["BatchGetItem", "DescribeStream", "DescribeTable", "GetItem", "GetRecords", "GetShardIterator", "Query"];

#[tokio::test]
async fn events_are_forwarded_signed_as_they_happen_and_nothing_is_written() {
    let world = World::start().await;
    let mut contact = contact(&world).await;
    let server = server(ResponseTemplate::new(204)).await;
    let url = format!("{}/hook?a=b", server.uri());
    world.db.forget_calls();
    listening(&world, &url, &[], async |hello, mut said| {
        let told = (hello["forwardTo"].as_str(), hello["events"][0].as_str(), hello["apiKey"].as_str());
        assert_eq!(told, (Some(url.as_str()), Some("*"), Some("local")));
        let updated = rename(&world, &mut contact, "Bea").await;
        let line = said.json().await;
        let (id, event_type) = (line["eventId"].as_str(), line["eventType"].as_str());
        assert_eq!((id, event_type), (Some(updated.as_str()), Some("contact.updated")));
        assert_eq!((&line["status"], &line["error"]), (&204.into(), &Value::Null));

        let requests = got(&server).await;
        let [request] = requests.as_slice() else { panic!("{requests:?}") };
        let (path, query) = (request.url.path(), request.url.query());
        assert_eq!((request.method.as_str(), path, query), ("POST", "/hook", Some("a=b")));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!((&body["eventId"], &body["payload"]["firstName"]), (&line["eventId"], &"Bea".into()));

        let signing = SigningSecret::parse(hello["secret"].as_str().unwrap()).unwrap();
        let api_key = ReceiverKey::parse("local").unwrap();
        let secrets = EndpointSecrets { api_key, signing: SigningSecrets::only(signing) };
        let seconds: i64 = header(request, "webhook-timestamp").parse().unwrap();
        let (id, at) = (EventId::parse(&updated).unwrap(), Timestamp::from_millis(seconds * 1000));
        for (name, value) in signature::headers(id, &request.body, &secrets, at) {
            assert_eq!(header(request, name), value.expose(), "{name}");
        }
        let sent = ["content-type", "accept", "user-agent"].map(|name| header(request, name));
        let agent = format!("{}-Webhooks/1", domain::PLATFORM);
        assert_eq!(sent, ["application/json", "*/*", agent.as_str()]);
    })
    .await;
    let calls: Vec<String> = world.db.calls().into_iter().map(|call| call.operation).collect();
    let writes: Vec<&str> =
        calls.iter().map(String::as_str).filter(|operation| !READS.contains(operation)).collect();
    assert_eq!(writes, ["TransactWriteItems"], "the test's own write must be the only one");
    assert!(calls.contains(&"GetRecords".to_owned()), "{calls:?}");
    assert_eq!(world.db.rows(Table::Webhooks), Vec::<Value>::new());
}

#[tokio::test]
async fn changes_of_all_kinds_become_events_without_an_endpoint_and_the_filter_selects_them() {
    let world = World::start().await;
    let server = server(ResponseTemplate::new(200)).await;
    let make = async |cellphone| {
        let conversation = world.conversation(|_| ()).await;
        world.db.clock().advance(Duration::from_secs(1));
        world.lead(cellphone, |_| ()).await;
        world.db.clock().advance(Duration::from_secs(1));
        release(&world, &conversation).await;
    };
    let all = [
        "contact.created",
        "conversation.created",
        "lead.accepted",
        "conversation.updated",
        "conversation_summary.created",
    ];
    listening(&world, &server.uri(), &[], async |_, mut said| {
        make("+34600111222").await;
        let mut types: Vec<String> = vec![];
        for _ in all {
            types.push(said.json().await["eventType"].as_str().unwrap().to_owned());
        }
        types.sort();
        let mut expected = all.to_vec();
        expected.sort_unstable();
        assert_eq!(types, expected);
    })
    .await;
    let selected = ["--event", "lead.accepted", "--event", "conversation_summary.created"];
    listening(&world, &server.uri(), &selected, async |hello, mut said| {
        assert_eq!(hello["events"].as_array().unwrap().len(), 2);
        make("+34600111333").await;
        let types = [said.json().await, said.json().await].map(|line| line["eventType"].clone());
        assert_eq!(types, ["lead.accepted", "conversation_summary.created"]);
    })
    .await;
    assert_eq!(world.db.rows(Table::Webhooks), Vec::<Value>::new());
}

#[tokio::test]
async fn earlier_changes_and_other_workspaces_are_not_forwarded() {
    let world = World::start().await;
    let (other, _) = world.second_workspace().await;
    contact(&world).await;
    let server = server(ResponseTemplate::new(200)).await;
    listening(&world, &server.uri(), &[], async |_, mut said| {
        world.contact_of(other, |_| ()).await;
        let later = contact(&world).await;
        let expected = of_change(EventType::ContactCreated, &later).to_string();
        assert_eq!(said.json().await["eventId"], expected);
    })
    .await;
    assert_eq!(got(&server).await.len(), 1);
}

#[tokio::test]
async fn a_failed_post_is_printed_and_neither_repeated_nor_redirected() {
    let world = World::start().await;
    let mut contact = contact(&world).await;
    let elsewhere = server(ResponseTemplate::new(200)).await;
    let server = MockServer::start().await;
    let moved = ResponseTemplate::new(307).insert_header("location", elsewhere.uri());
    for answer in [ResponseTemplate::new(500), moved, ResponseTemplate::new(202)] {
        Mock::given(any()).respond_with(answer).up_to_n_times(1).mount(&server).await;
    }
    let mut ids = vec![];
    let printed = listening(&world, &server.uri(), &[], async |_, mut said| {
        let mut printed = vec![];
        for name in ["Bea", "Cleo", "Dora"] {
            ids.push(rename(&world, &mut contact, name).await);
            printed.push(said.json().await);
        }
        printed
    })
    .await;
    let statuses: Vec<&Value> = printed.iter().map(|line| &line["status"]).collect();
    assert_eq!(statuses, [&Value::from(500), &307.into(), &202.into()]);
    let posted: Vec<String> = got(&server).await.iter().map(|post| header(post, "webhook-id")).collect();
    assert_eq!((posted, got(&elsewhere).await.len()), (ids, 0));

    // Nothing listens on the port of a listener that is gone.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    listening(&world, &format!("http://{free}/"), &[], async |_, mut said| {
        rename(&world, &mut contact, "Emma").await;
        let line = said.json().await;
        assert_eq!(line["status"], Value::Null);
        assert!(line["error"].as_str().unwrap().contains("refused"), "{line}");
    })
    .await;
}

#[tokio::test]
async fn a_busy_stack_is_reported_once_and_nothing_is_lost() {
    let world = World::start().await;
    let mut contact = contact(&world).await;
    let server = server(ResponseTemplate::new(200)).await;
    listening(&world, &server.uri(), &[], async |_, mut said| {
        // Three attempts at each of the four streams, for two looks.
        world.db.fail("GetRecords", Fault::Throttled, 24);
        let id = rename(&world, &mut contact, "Bea").await;
        assert_eq!(said.json().await["eventId"], id);
        let complaints = said.err.text();
        assert_eq!(complaints.lines().count(), 1, "{complaints}");
        assert!(complaints.starts_with("The changes cannot be read at the moment ("), "{complaints}");

        // The definitions for the body cannot be read: the change is not forgotten.
        world.db.fail("Query", Fault::Throttled, 3);
        let id = rename(&world, &mut contact, "Cleo").await;
        assert_eq!(said.json().await["eventId"], id);
        assert_eq!(said.err.text().lines().count(), 2, "{}", said.err.text());

        // The counts for the body of a summary cannot be read.
        let conversation = world.conversation(|_| ()).await;
        for event_type in ["contact.created", "conversation.created"] {
            assert_eq!(said.json().await["eventType"], event_type);
        }
        world.db.fail("GetItem", Fault::Throttled, 3);
        release(&world, &conversation).await;
        for event_type in ["conversation.updated", "conversation_summary.created"] {
            assert_eq!(said.json().await["eventType"], event_type);
        }
        assert_eq!(said.err.text().lines().count(), 3, "{}", said.err.text());
    })
    .await;
    assert_eq!(got(&server).await.len(), 6);
}

#[tokio::test]
async fn an_expired_iterator_loses_and_repeats_nothing() {
    let world = World::start().await;
    let server = server(ResponseTemplate::new(200)).await;
    listening(&world, &server.uri(), &[], async |_, mut said| {
        // First at the ends of the shards, then after a record.
        world.db.fail("GetRecords", Fault::Expired, 4);
        let mut contact = contact(&world).await;
        assert_eq!(said.json().await["eventId"], of_change(EventType::ContactCreated, &contact).to_string());
        for name in ["Bea", "Cleo"] {
            world.db.fail("GetRecords", Fault::Expired, 4);
            let id = rename(&world, &mut contact, name).await;
            assert_eq!(said.json().await["eventId"], id);
        }
    })
    .await;
    assert_eq!(got(&server).await.len(), 3);
}

#[tokio::test]
async fn a_closed_pipe_ends_it_and_a_call_that_the_stack_refuses_is_a_refusal() {
    let world = World::start().await;
    let err = Pipe::default();
    let status = listen(&world, "http://127.0.0.1:9/", &["--json"], Box::new(ClosedPipe), &err).await;
    assert_eq!((status, err.text().as_str()), (0, ""));

    let nobody = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    let desk = Desk::over(world.db);
    let refused = ["webhook", "listen", "--workspace", nobody, "--forward-to", "http://localhost:9/"];
    assert_eq!(desk.refused(&refused).await, format!("There is no workspace {nobody}."));
    let table = desk.db.table(Table::Leads);
    desk.db.client().delete_table().table_name(table).send().await.unwrap();
    let listen =
        ["webhook", "listen", "--workspace", World::WORKSPACE, "--forward-to", "http://localhost:9/"];
    assert_eq!(
        desk.refused(&listen).await,
        "There is no such stack in this account and region: one of its tables does not exist."
    );
}
