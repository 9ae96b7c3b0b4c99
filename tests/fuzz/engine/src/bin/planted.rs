//! Not a target: the proof that coverage guides the engine (`run.py planted`). Without guidance, one input of about 2^70
//! fails.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut cells = text.split(',');
    if cells.next() == Some("key") {
        let number: Option<u16> = cells.next().and_then(|cell| cell.parse().ok());
        if number == Some(40_961) && cells.next().is_some_and(|cell| cell.starts_with("last")) {
            panic!("planted");
        }
    }
});
