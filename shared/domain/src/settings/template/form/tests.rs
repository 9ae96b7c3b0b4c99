use super::*;

fn named(text: &str) -> Text {
    Text::parse(text, ParameterFormat::Named)
}

#[test]
fn the_parameters_of_a_text_stand_in_double_braces() {
    let rows: [(&str, &[&str]); 9] = [
        ("", &[]),
        ("no parameter", &[]),
        ("{{name}}", &["name"]),
        ("Hi {{ name }}, {{b_2}}!", &["name", "b_2"]),
        ("{{b}}{{a}}{{b}}", &["b", "a"]),
        ("{{{{a}}}}", &["a"]),
        ("{{a b}} {{c}}", &["c"]),
        ("{{}} {{é}} {{d", &[]),
        ("}} {{a}}", &["a"]),
    ];
    for (text, names) in rows {
        assert_eq!(named(text).names, names, "{text}");
        let filled = named(text).filled(|_| None).unwrap();
        assert_eq!(filled.replace(' ', ""), text.replace(' ', ""), "without values the text stays");
    }
    assert_eq!(
        named("{{b}}, {{a}} and {{b}}").filled(|name| Some(name.to_uppercase())).unwrap(),
        "B, A and B"
    );
    assert_eq!(Text::parse("{{10}} {{2}} {{1}}", ParameterFormat::Positional).names, ["1", "2", "10"]);
    assert_eq!(Text::default().filled(|_| None), None);
}

#[test]
fn the_shape_depends_on_what_a_send_fills_and_on_nothing_else() {
    let form = Form { body: named("Hi {{a}}"), ..Form::of_names(vec![]) };
    let same = Form { body: named("Good day, {{a}}"), footer: Some("x".to_owned()), ..form.clone() };
    assert_eq!(form.shape(), same.shape());
    let button = |kind| vec![Button { text: "x".to_owned(), kind }];
    for other in [
        Form { body: named("Hi {{b}}"), ..form.clone() },
        Form { format: ParameterFormat::Named, ..form.clone() },
        Form { header: Some(Header::File(FileKind::Image)), ..form.clone() },
        Form { header: Some(Header::Location), ..form.clone() },
        Form { buttons: button(ButtonKind::QuickReply), ..form.clone() },
        Form { offer: Some(Offer { text: "x".to_owned(), expires: true }), ..form.clone() },
        Form { unsupported: Some("[]".to_owned()), ..form.clone() },
    ] {
        assert_ne!(form.shape(), other.shape(), "{other:?}");
    }
}

#[test]
fn a_header_takes_the_files_that_the_provider_takes() {
    let file = |file_type, content_type: &str, size| Attached {
        media: crate::ids::MediaId::from_uuid(uuid::Uuid::nil()),
        file_type,
        content_type: content_type.to_owned(),
        name: crate::media::FileName::parse("a.b").unwrap(),
        size,
    };
    const MB: u64 = 1_048_576;
    let rows = [
        (FileKind::Image, file(FileType::Image, "image/jpeg", 5 * MB), true),
        (FileKind::Image, file(FileType::Image, "image/png", 5 * MB + 1), false),
        (FileKind::Image, file(FileType::Image, "image/webp", 1), false),
        (FileKind::Video, file(FileType::Video, "video/mp4", 16 * MB), true),
        (FileKind::Video, file(FileType::Video, "video/mp4", 16 * MB + 1), false),
        (FileKind::Video, file(FileType::Image, "image/png", 1), false),
        (FileKind::Document, file(FileType::Document, "application/pdf", 100 * MB), true),
        (FileKind::Document, file(FileType::Image, "image/png", 1), false),
    ];
    for (kind, file, takes) in rows {
        assert_eq!(kind.refuses(&file).is_none(), takes, "{kind:?} {file:?}");
    }
}
