//! Each documented form of an item, one file each in `tests/corpus`, written from the names of the provider's fields. Each
//! leaf of a message is mapped, ignored for a reason, or kept raw; what is no message makes none.

use std::collections::BTreeMap;
use std::path::Path;

use domain::message::CorrectionKind;
use domain::message::received::{Raw, ReceivedContent};
use provider::webhook::{Content, Item, Piece, Subject, read, unmapped};
use serde_json::{Value, json};

/// The files by name.
fn corpus() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let parse = |file: &Path| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    files.iter().map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), parse(file))).collect()
}

fn item_of(file: &Value, item: &Value) -> Option<Item> {
    let contact = json!([{ "wa_id": "34600111222", "profile": { "name": "Ana" } }]);
    let contacts = file.get("contacts").unwrap_or(&contact);
    let list = file["list"].as_str().unwrap();
    let value = json!({ "metadata": { "phone_number_id": "5" }, "contacts": contacts, list: [item] });
    let (account, field) = ("2055500001".to_owned(), "messages".to_owned());
    match read(&Piece { account, field, value, ranks: Default::default() }) {
        Subject::Line(_, mut items) => items.pop(),
        other => panic!("{other:?}"),
    }
}

/// What an item is read as, and what is kept raw.
fn read_as(item: &Item) -> (&'static str, Value) {
    match item {
        Item::Status(_) => ("STATUS", Value::Null),
        Item::Preference(_) => ("PREFERENCE", Value::Null),
        Item::Notice(_) => ("NOTICE", Value::Null),
        Item::Correction { correction, .. } => {
            let raw = match &correction.kind {
                CorrectionKind::Edit { raw, .. } => raw.as_ref().map(Raw::as_str),
                CorrectionKind::Revoke => None,
            };
            ("CORRECTION", raw.map(|raw| serde_json::from_str(raw).unwrap()).unwrap_or_default())
        }
        Item::Message(message) | Item::Echo(message) => {
            let raw = message.extras.raw.as_ref().map(Raw::as_str);
            let raw = raw.map(|raw| serde_json::from_str(raw).unwrap()).unwrap_or_default();
            let kind = match &message.content {
                Content::Moved { .. } => return ("MOVE", Value::Null),
                Content::Reaction { .. } => "REACTION",
                Content::Media(file) => {
                    let (sent_as, caption) = (file.sent_as, file.caption.clone());
                    let file = Err(domain::media::FileMissing::Gone);
                    let (voice, animated) = (None, None);
                    let content = ReceivedContent::File { sent_as, file, caption, voice, animated };
                    content.message_type().as_str()
                }
                Content::Said(said) => ReceivedContent::Said(said.clone()).message_type().as_str(),
            };
            (kind, raw)
        }
    }
}

#[test]
fn each_documented_item_is_read_and_each_of_its_leaves_is_mapped_ignored_or_raw() {
    let corpus = corpus();
    assert!(corpus.len() > 50);
    for (name, file) in corpus {
        let item = item_of(&file, &file["item"]).unwrap_or_else(|| panic!("{name} is not read"));
        let (kind, raw) = read_as(&item);
        assert_eq!((kind, &raw), (file["read"].as_str().unwrap(), &file["raw"]), "{name}");
        let is_echo = file["list"] == "message_echoes" && kind != "CORRECTION";
        assert_eq!(matches!(item, Item::Echo(_)), is_echo, "{name}");
    }
}

#[test]
fn a_leaf_that_a_later_release_of_the_provider_adds_is_kept_raw_wherever_it_is() {
    let mut added = 0;
    for (name, file) in corpus() {
        let is_message =
            ["MOVE", "NOTICE", "STATUS", "PREFERENCE", "CORRECTION"].iter().all(|kind| file["read"] != *kind);
        for path in objects(&file["item"]).into_iter().filter(|_| is_message) {
            let mut item = file["item"].clone();
            item.pointer_mut(&path).unwrap()["made_up"] = json!("a new leaf");
            let (kind, raw) = read_as(&item_of(&file, &item).unwrap());
            assert_eq!(kind, file["read"].as_str().unwrap(), "{name} {path}");
            assert!(raw.to_string().contains("a new leaf"), "{name} {path}: {raw}");
            added += 1;
        }
    }
    assert!(added > 100, "{added}");
}

#[test]
fn a_leaf_of_an_item_that_keeps_nothing_raw_is_mapped_or_ignored_and_a_new_one_is_found() {
    let mut added = 0;
    for (name, file) in corpus() {
        let keeps_nothing = ["MOVE", "STATUS", "PREFERENCE"].iter().any(|kind| file["read"] == *kind);
        if !keeps_nothing && !name.ends_with("revoke") {
            continue;
        }
        let of = |item: &Value| unmapped(&json!({ file["list"].as_str().unwrap(): [item] }));
        assert_eq!(of(&file["item"]), BTreeMap::new(), "{name}");
        for path in objects(&file["item"]) {
            let mut item = file["item"].clone();
            item.pointer_mut(&path).unwrap()["made_up"] = json!({ "leaves": ["one", "", 2, null] });
            let found = of(&item);
            assert_eq!(found.values().sum::<usize>(), 2, "{name} {path}: {found:?}");
            let below = format!("{}.made_up.leaves.0", path.replace('/', "."));
            assert!(found.keys().any(|found| found.ends_with(&below)), "{name} {path}: {found:?}");
            added += 1;
        }
    }
    assert!(added > 15, "{added}");
}

/// The JSON pointers of all objects of a value.
fn objects(of: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match of {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => vec![],
    };
    let below = children
        .into_iter()
        .flat_map(|(step, value)| objects(value).into_iter().map(move |path| format!("/{step}{path}")));
    of.is_object().then(String::new).into_iter().chain(below).collect()
}
