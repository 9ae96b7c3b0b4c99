use super::*;
use domain::{ContactId, MessageBody, PersonName};

fn failures(form: Form) -> Vec<(String, &'static str, Value, Value)> {
    let Err(ApiError::Invalid(failures)) = form.finish(None::<()>) else { return vec![] };
    failures.into_iter().map(|f| (f.loc.join("."), f.kind, f.input, Value::Object(f.ctx))).collect()
}

#[test]
fn every_failure_is_recorded_with_its_location_input_and_context() {
    let body = json!({"a": 7, "b": "", "list": ["x", 1], "long": "x".repeat(300), "bell": "\u{7}"});
    let body = Node::root("body", Some(&body));
    let mut form = Form::default();
    body.field("a").text(&mut form, PersonName::parse);
    body.field("b").text(&mut form, PersonName::parse);
    body.field("c").required(&mut form);
    for item in body.field("list").items(&mut form, 0, 2) {
        item.text(&mut form, ContactId::parse);
    }
    body.field("list").items(&mut form, 3, 5);
    body.field("list").items(&mut form, 0, 1);
    body.field("a").items(&mut form, 0, 1);
    body.field("a").object(&mut form);
    body.field("long").text(&mut form, PersonName::parse);
    body.field("bell").text(&mut form, PersonName::parse);
    let reason = "control characters other than newline and tab are not allowed";
    assert_eq!(
        failures(form),
        [
            ("body.a".into(), "string_type", json!(7), json!({})),
            ("body.b".into(), "string_too_short", json!(""), json!({"min_length": 1})),
            ("body.c".into(), "missing", json!(null), json!({})),
            ("body.list.0".into(), "uuid_parsing", json!("x"), json!({})),
            ("body.list.1".into(), "string_type", json!(1), json!({})),
            ("body.list".into(), "too_short", json!(["x", 1]), json!({"min_length": 3})),
            ("body.list".into(), "too_long", json!(["x", 1]), json!({"max_length": 1})),
            ("body.a".into(), "list_type", json!(7), json!({})),
            ("body.a".into(), "dict_type", json!(7), json!({})),
            ("body.long".into(), "string_too_long", json!("x".repeat(256)), json!({"max_length": 100})),
            ("body.bell".into(), "value_error", json!("\u{7}"), json!({"error": reason})),
        ]
    );
}

#[test]
fn whole_numbers_of_a_body_have_bounds_and_no_fraction() {
    let above = Err(("less_than_equal", json!({"le": 100})));
    let below = Err(("greater_than_equal", json!({"ge": 1})));
    let none = Err(("int_parsing", json!({})));
    for (sent, expected) in [
        ("1", Ok(1)),
        ("100", Ok(100)),
        ("1e2", Ok(100)),
        ("7.0", Ok(7)),
        ("0", below.clone()),
        ("-1e300", below),
        ("101", above.clone()),
        ("18446744073709551615", above.clone()),
        ("1e300", above),
        ("7.5", none.clone()),
        ("\"7\"", none.clone()),
        ("true", none.clone()),
        ("null", none.clone()),
        ("[7]", none),
    ] {
        let value = serde_json::from_str(sent).unwrap();
        let mut form = Form::default();
        let read = Node::root("body", Some(&value)).integer(&mut form, 1, 100);
        let found = read.ok_or_else(|| {
            let (_, kind, _, ctx) = failures(form).remove(0);
            (kind, ctx)
        });
        assert_eq!(found, expected, "{sent}");
    }
}

#[test]
fn mismatches_are_an_error_of_their_own_only_if_there_are_no_other_failures() {
    let body = json!({"name": "a.gif", "size": "x"});
    let body = Node::root("body", Some(&body));
    let mismatch = || Rejection::Mismatch { reason: "it does not belong", expected: vec![".jpg", ".png"] };
    let mut form = Form::default();
    form.fail(&body.field("name"), mismatch());
    let Err(ApiError::FilesUnfit(noted)) = form.finish(Some(())) else { panic!("not of its own") };
    assert_eq!((noted[0].loc.join("."), noted[0].kind), ("body.name".to_owned(), "value_error"));
    assert_eq!(noted[0].msg, "Value error: it does not belong; expected .jpg, .png");
    let ctx = json!({"error": "it does not belong", "expected": [".jpg", ".png"]});
    assert_eq!(Value::Object(noted[0].ctx.clone()), ctx);

    let mut form = Form::default();
    form.fail(&body.field("name"), mismatch());
    body.field("size").integer(&mut form, 1, 100);
    let kinds: Vec<_> = failures(form).into_iter().map(|(_, kind, _, _)| kind).collect();
    assert_eq!(kinds, ["value_error", "int_parsing"]);
}

#[test]
fn the_fields_of_an_object_are_read_by_name_and_their_names_are_texts() {
    let body = json!({"a": "x", "b": 1, "c\u{0}": "x"});
    let body = Node::root("body", Some(&body));
    let mut form = Form::default();
    let names: Vec<&str> = body.entries(&mut form, 3).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(body.entries(&mut form, 2).is_empty());
    assert!(body.field("a").entries(&mut form, 2).is_empty());
    let kinds: Vec<(String, &str)> =
        failures(form).into_iter().map(|(loc, kind, _, _)| (loc, kind)).collect();
    let expected = [("body.c\u{0}", "value_error"), ("body", "too_long"), ("body.a", "dict_type")];
    assert_eq!(kinds, expected.map(|(loc, kind)| (loc.to_owned(), kind)));
}

#[test]
fn newline_and_tab_are_allowed_in_texts() {
    let body = json!("a\n\tb");
    let mut form = Form::default();
    assert!(Node::root("body", Some(&body)).text(&mut form, MessageBody::parse).is_some());
    assert!(form.finish(Some(())).is_ok());
}

#[test]
fn a_patch_distinguishes_absent_null_and_a_value() {
    let body = json!({"null": null, "set": "Ana", "bad": 1});
    let body = Node::root("body", Some(&body));
    let mut form = Form::default();
    let mut read = |name: &str| body.patch(&mut form, name, |form, at| at.text(form, PersonName::parse));
    assert_eq!(read("omitted"), Patch::Keep);
    assert_eq!(read("null"), Patch::Clear);
    assert_eq!(read("set"), Patch::Set(PersonName::parse("Ana").unwrap()));
    assert_eq!(read("bad"), Patch::Keep);
    assert_eq!(failures(form), [("body.bad".into(), "string_type", json!(1), json!({}))]);
}

#[test]
fn an_optional_field_is_given_unless_it_is_absent_or_null() {
    let body = json!({"null": null, "empty": "", "false": false});
    let body = Node::root("body", Some(&body));
    for (name, given) in [("absent", false), ("null", false), ("empty", true), ("false", true)] {
        assert_eq!(body.field(name).given().is_some(), given, "{name}");
    }
}

#[test]
fn only_an_array_without_items_is_an_empty_list() {
    for (value, empty) in [(json!([]), true), (json!([null]), false), (json!({}), false), (json!(""), false)]
    {
        assert_eq!(Node::root("body", Some(&value)).is_empty_list(), empty, "{value}");
    }
    assert!(!Node::root("body", None).is_empty_list());
}

#[test]
fn booleans_of_a_body_are_json_booleans() {
    for (value, expected) in [
        (json!(true), Some(true)),
        (json!(false), Some(false)),
        (json!("true"), None),
        (json!(1), None),
        (json!(null), None),
        (json!([true]), None),
    ] {
        let mut form = Form::default();
        assert_eq!(Node::root("body", Some(&value)).boolean(&mut form), expected, "{value}");
        let noted = expected.map_or(vec![("body".to_owned(), "bool_parsing", value, json!({}))], |_| vec![]);
        assert_eq!(failures(form), noted);
    }
}

#[test]
fn unknown_and_repeated_query_parameters_are_refused() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let query = Query::new(vec![pair("n", "1"), pair("serach", "ana"), pair("n", "2")]);
    let mut form = Form::default();
    query.only(&mut form, &["n", "search"]);
    assert_eq!(
        failures(form),
        [
            ("query.n".into(), "value_error", json!("2"), json!({"error": "the parameter is repeated"})),
            ("query.serach".into(), "extra_forbidden", json!("ana"), json!({"allowed": ["n", "search"]})),
        ]
    );
}

#[test]
fn whole_numbers_of_a_query_have_bounds() {
    let rows = [
        ("1", Ok(1)),
        ("100", Ok(100)),
        ("0", Err("greater_than_equal")),
        ("-99999999999999999999", Err("greater_than_equal")),
        ("101", Err("less_than_equal")),
        ("99999999999999999999", Err("less_than_equal")),
        ("", Err("int_parsing")),
        ("1.0", Err("int_parsing")),
        ("abc", Err("int_parsing")),
        (" 5", Err("int_parsing")),
    ];
    for (text, expected) in rows {
        let query = Query::new(vec![("n".to_owned(), text.to_owned())]);
        let mut form = Form::default();
        let read = query.integer(&mut form, "n", 1, 100);
        let found = read.ok_or_else(|| failures(form)[0].1);
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn booleans_of_a_query_are_true_or_false() {
    for (text, expected) in
        [("true", Some(true)), ("false", Some(false)), ("True", None), ("1", None), ("", None)]
    {
        let query = Query::new(vec![("b".to_owned(), text.to_owned())]);
        let mut form = Form::default();
        assert_eq!(query.boolean(&mut form, "b"), expected, "{text:?}");
        assert_eq!(failures(form).len(), usize::from(expected.is_none()));
    }
}
