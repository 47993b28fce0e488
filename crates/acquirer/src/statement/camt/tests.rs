use entity::TimeSpan;

use super::super::reader::{StatementReader, read_all};
use super::*;

fn transaction(kind: &str, reference: &str, amount: &str, indicator: &str) -> String {
    format!(
        "<Ntry><Amt Ccy=\"AUD\">{amount}</Amt><CdtDbtInd>{indicator}</CdtDbtInd><BookgDt><Dt>2026-01-01</Dt></BookgDt>\n\
         <BkTxCd><Prtry><Cd>{kind}</Cd></Prtry></BkTxCd>\
         <NtryDtls><TxDtls><Refs><EndToEndId>{reference}</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>"
    )
}

fn document(entries: &str, count: usize) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<d:Document xmlns:d=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt><Stmt>\
         <Id>s &amp; 1</Id><FrToDt><FrDtTm>2026-01-01T00:00:00</FrDtTm><ToDtTm>2026-01-01T23:59:59</ToDtTm></FrToDt>\
         <TxsSummry><TtlNtries><NbOfNtries>{count}</NbOfNtries></TtlNtries></TxsSummry>{entries}</Stmt></BkToCstmrStmt></d:Document>"
    )
}

fn read(text: &str) -> (Vec<Line>, Vec<String>, Option<Heading>) {
    let (lines, faults, heading) = read_all(text);
    (lines, faults.iter().map(Fault::to_string).collect(), heading)
}

#[test]
fn entries_and_their_details_are_movements() {
    let details = "<Ntry><Amt Ccy='JPY'>700</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2026-01-01</Dt></BookgDt><NtryDtls>\
        <TxDtls><Refs><EndToEndId>rf_1:refund</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy='JPY'>300</Amt></TxAmt></AmtDtls>\
        <BkTxCd><Prtry><Cd>refund</Cd></Prtry></BkTxCd><RltdDts><TxDtTm>2025-12-31T23:00:00Z</TxDtTm></RltdDts></TxDtls>\
        <TxDtls><Refs><EndToEndId>ch_1</EndToEndId></Refs><Amt Ccy='JPY'>400.0</Amt>\
        <BkTxCd><Prtry><Cd>chargeback</Cd></Prtry></BkTxCd></TxDtls></NtryDtls></Ntry>";
    let text = document(&(transaction("capture", "ch_1", "4.5", "CRDT") + details), 2);
    let (lines, faults, heading) = read(&text);
    assert_eq!(faults, Vec::<String>::new());
    let heading = heading.unwrap();
    assert_eq!((heading.name.as_str(), heading.lines), ("s & 1", 3));
    let lines: Vec<_> = lines
        .iter()
        .map(|line| (line.movement.code(), line.reference.as_str(), line.amount, line.day.date().to_string()))
        .collect();
    let day = |text: &str| text.to_owned();
    assert_eq!(
        lines,
        [
            ("capture", "ch_1", 450, day("2026-01-01")),
            ("refund", "rf_1:refund", 300, day("2025-12-31")),
            ("chargeback", "ch_1", 400, day("2026-01-01")),
        ]
    );
}

#[test]
fn the_amount_of_an_entry_counts_before_that_of_its_transaction() {
    let (own, other) = ("<Amt Ccy='AUD'>4</Amt>", "<AmtDtls><TxAmt><Amt Ccy='USD'>3</Amt></TxAmt></AmtDtls>");
    for amounts in [[own, other], [other, own]] {
        let entry = transaction("capture", "ch_1", "9", "CRDT")
            .replace("<Amt Ccy=\"AUD\">9</Amt>", &amounts.concat());
        let (lines, faults, _) = read(&document(&entry, 1));
        assert_eq!((lines[0].amount, lines[0].currency), (400, Currency::Aud), "{faults:?}");
    }
}

#[test]
fn the_amounts_of_several_transactions_add_up_to_that_of_their_entry() {
    let entry = |amount: &str, transactions: &[&str]| {
        let details =
            |text: &&str| format!("<TxDtls><Refs><EndToEndId>ch_1</EndToEndId></Refs>{text}</TxDtls>");
        let details: String = transactions.iter().map(details).collect();
        transaction("capture", "ch_1", amount, "CRDT")
            .replace("<TxDtls><Refs><EndToEndId>ch_1</EndToEndId></Refs></TxDtls>", &details)
    };
    let (four, five) = ("<Amt Ccy='AUD'>4</Amt>", "<Amt Ccy='AUD'>5</Amt>");
    let returned = "<Amt Ccy='AUD'>1</Amt><CdtDbtInd>DBIT</CdtDbtInd>\
        <BkTxCd><Prtry><Cd>refund</Cd></Prtry></BkTxCd>";
    let dollars = "<Amt Ccy='USD'>4</Amt>";
    let cases = [
        ("9", vec![four, five], None),
        ("8", vec![four, five, returned], None),
        ("4", vec![""], None),
        ("7", vec![dollars], None),
        (
            "10",
            vec![four, five],
            Some("line 3: the amounts of its transactions must add up to that of the entry"),
        ),
        ("5", vec![four], Some("line 3: the amounts of its transactions must add up to that of the entry")),
        ("9", vec![four, ""], Some("line 3: each of several transactions must have an amount")),
    ];
    for (amount, transactions, fault) in cases {
        let (_, faults, _) = read(&document(&entry(amount, &transactions), 1));
        assert_eq!(faults, fault.into_iter().collect::<Vec<_>>(), "{amount} {transactions:?}");
    }
}

#[test]
fn a_time_with_an_offset_is_of_its_day_in_utc() {
    let booked = transaction("capture", "ch_1", "4", "CRDT");
    for (time, day) in [
        ("<DtTm>2026-01-02T09:00:00+10:00</DtTm>", "2026-01-01"),
        ("<DtTm>2026-01-01T23:30:00-01:00</DtTm>", "2026-01-02"),
        ("<DtTm>2026-01-01T09:00:00</DtTm>", "2026-01-01"),
    ] {
        let entry = booked.replace("<Dt>2026-01-01</Dt>", time);
        let days: Vec<_> =
            read(&document(&entry, 1)).0.iter().map(|line| line.day.date().to_string()).collect();
        assert_eq!(days, [day], "{time}");
    }
}

#[test]
fn a_day_without_an_offset_is_of_the_zone_of_the_statement() {
    let text = document(&transaction("capture", "ch_1", "4", "CRDT"), 1)
        .replace("T00:00:00<", "T00:00:00+10:00<")
        .replace("T23:59:59<", "T23:59:59+10:00<");
    let (lines, faults, heading) = read(&text);
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(
        (lines[0].day.date().to_string(), lines[0].zone.utc_offset),
        ("2026-01-01".into(), TimeSpan::seconds(36_000))
    );
    let period = heading.unwrap().period;
    assert_eq!((period.first_day, period.last_day), (lines[0].day, lines[0].day));
    assert_eq!(period.from, period.first_day.begin() - TimeSpan::seconds(36_000));
    assert_eq!(period.until, period.from + TimeSpan::days(1));
}

#[test]
fn fields_count_at_their_own_place() {
    let elsewhere = "<Intrst><FrToDt><FrDtTm>2025-01-01T00:00:00</FrDtTm><ToDtTm>2025-12-31T00:00:00</ToDtTm></FrToDt></Intrst>\
        <Acct><Id>another</Id></Acct><Bal><Amt Ccy='EUR'>7</Amt><CdtDbtInd>DBIT</CdtDbtInd></Bal>";
    let entry = transaction("capture", "ch_1", "4", "CRDT").replace(
        "</Ntry>",
        "<Chrgs><Rcrd><Amt Ccy='EUR'>9</Amt><CdtDbtInd>DBIT</CdtDbtInd></Rcrd></Chrgs>\
         <Intrst><FrToDt><FrDtTm>2025-02-01T00:00:00</FrDtTm></FrToDt></Intrst></Ntry>",
    );
    let text = document(&entry, 1).replace("<TxsSummry>", &format!("{elsewhere}<TxsSummry>"));
    let (lines, faults, heading) = read(&text);
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!((lines[0].amount, lines[0].currency), (400, Currency::Aud));
    let heading = heading.unwrap();
    let day = lines[0].day;
    assert_eq!((heading.name.as_str(), heading.period), ("s & 1", Period::of_days(day, day)));
}

#[test]
fn a_summary_and_a_period_may_be_missing() {
    let without = |text: &str, element: &str| {
        let (before, rest) = text.split_once(&format!("<{element}>")).unwrap();
        format!("{before}{}", rest.split_once(&format!("</{element}>")).unwrap().1)
    };
    let whole = document(&transaction("capture", "ch_1", "4", "CRDT"), 1);
    let bare = without(&without(&whole, "TxsSummry"), "FrToDt");
    let (lines, faults, heading) = read(&bare);
    assert_eq!(faults, Vec::<String>::new());
    // It covers the days of its entries.
    assert_eq!(heading.unwrap().period, Period::of_days(lines[0].day, lines[0].day));
    let empty = document("", 0);
    assert_eq!(read(&empty).1, Vec::<String>::new());
    for text in [
        without(&empty, "FrToDt"),
        without(&whole, "ToDtTm"),
        whole.replace("<NbOfNtries>1<", "<NbOfNtries>one<"),
    ] {
        assert_eq!(read(&text).1.len(), 1, "{text}");
    }
    let backwards = whole.replace("<FrDtTm>2026-01-01T00", "<FrDtTm>2026-01-02T00");
    assert_eq!(read(&backwards).1, ["line 3: a statement ends after it begins"]);
}

#[test]
fn an_entry_that_is_not_booked_or_names_no_payment_is_refused() {
    let booked = transaction("capture", "ch_1", "4", "CRDT");
    for (status, is_read) in [
        ("<Sts>BOOK</Sts>", true),
        ("<Sts>\n<Cd>BOOK</Cd>\n</Sts>", true),
        ("<Sts>PDNG</Sts>", false),
        ("<Sts><Cd>INFO</Cd></Sts>", false),
    ] {
        let entry = booked.replace("<BookgDt>", &format!("{status}<BookgDt>"));
        assert_eq!(read(&document(&entry, 1)).1.is_empty(), is_read, "{status}");
    }
    let (_, faults, _) = read(&document(&booked.replace("ch_1", "NOTPROVIDED"), 1));
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn a_file_with_several_statements_is_refused() {
    let one = document(&transaction("capture", "ch_1", "4", "CRDT"), 1);
    let (_, statement) = one.split_once("<BkToCstmrStmt>").unwrap();
    let (statement, _) = statement.split_once("</BkToCstmrStmt>").unwrap();
    let (_, faults, _) = read(&one.replace("</BkToCstmrStmt>", &format!("{statement}</BkToCstmrStmt>")));
    assert_eq!(faults[0], "line 3: begins another statement: a file has one");
}

#[test]
fn a_file_in_another_encoding_than_utf_8_is_refused_and_says_so() {
    let text = document(&transaction("capture", "ch_1", "4", "CRDT"), 1)
        .replace("<?xml version=\"1.0\"?>", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>");
    // Letters of ASCII are the same in both.
    assert_eq!(read(&text).1, Vec::<String>::new());
    let named = text.replace("</Id>", " Zo\u{eb}</Id>");
    let in_latin_1: Vec<u8> = named.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
    let mut reader = StatementReader::new(in_latin_1.as_slice()).unwrap();
    let faults = std::iter::from_fn(|| reader.next_line()).filter_map(Result::err).flatten();
    let faults: Vec<_> = faults.map(|fault| fault.to_string()).collect();
    assert_eq!(faults, ["line 2: is not text in UTF-8"]);
}

#[test]
fn a_document_nested_too_deep_is_refused() {
    let (_, faults, _) = read(&"<a>".repeat(100_000));
    assert_eq!(faults[0], "line 1: is nested deeper than 64 elements");
}

#[test]
fn faults_have_their_lines_and_a_file_that_is_cut_off_is_refused() {
    let entries = [
        transaction("capture", "ch_1", "4.005", "CRDT"),
        transaction("capture", "ch_1", "4", "DBIT"),
        transaction("payment", "", "1e3", "CRDT"),
    ];
    let (_, faults, _) = read(&document(&entries.concat(), 4));
    let lines: Vec<_> = faults.iter().map(|fault| fault.split_once(':').unwrap().0).collect();
    assert_eq!(lines, ["line 3", "line 4", "line 5", "line 5", "line 5", "line 5"], "{faults:#?}");
    let whole = document(&transaction("capture", "ch_1", "4", "CRDT"), 1);
    assert_eq!(read(&whole).1, Vec::<String>::new());
    for cut in (1..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        assert!(!read(&whole[..cut]).1.is_empty(), "{cut}");
    }
    let outside = whole.replacen("?>", "?><!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>", 1);
    for text in [outside, whole.replace("&amp;", "&x;")] {
        assert!(!read(&text).1.is_empty(), "{text}");
    }
}

/// Reads a text again and again.
struct Again<'t> {
    text: &'t [u8],
    at: usize,
    times: usize,
}

impl Read for Again<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() && self.times > 1 {
            (self.at, self.times) = (0, self.times - 1);
        }
        let n = (&self.text[self.at..]).read(into)?;
        self.at += n;
        Ok(n)
    }
}

#[test]
fn an_entry_of_many_transactions_is_read_one_by_one() {
    let booked = transaction("capture", "ch_1", "2000", "CRDT");
    let long = format!("<Amt Ccy='AUD'>{}1</Amt></TxDtls>", "0".repeat(15_000));
    let booked = document(&booked.replace("</TxDtls>", &long), 1);
    let (begin, rest) = booked.split_once("<TxDtls>").unwrap();
    let (one, end) = rest.split_once("</TxDtls>").unwrap();
    let one = format!("<TxDtls>{one}</TxDtls>");
    let many = Again { text: one.as_bytes(), at: 0, times: 2000 };
    let mut reader = StatementReader::new(begin.as_bytes().chain(many).chain(end.as_bytes())).unwrap();
    assert!((0..2000).all(|_| reader.next_line().is_some_and(|line| line.is_ok())));
    assert!(reader.next_line().is_none() && reader.heading().is_ok());
}
