//! Statements of banks: CSV and camt.053.

use std::io::{self, Read};

use acquirer::limits::{STATEMENT_AMOUNT_MAX, STATEMENT_DAYS_MAX};
use acquirer::statement::{Fault, Heading, Line, StatementReader, Zone};

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "statements",
    hold,
    samples,
    words: &[
        "type,reference,amount,currency,day\n",
        "statement,s1,,,2026-01-01\n",
        "capture,ch_1:charge,400,AUD,2026-01-01\n",
        "end,s1,1,,2026-01-01\n",
        "<Stmt>",
        "</Stmt>",
        "<Ntry>",
        "</Ntry>",
        "<NtryDtls><TxDtls>",
        "</TxDtls></NtryDtls>",
        "<Id>",
        "<FrToDt><FrDtTm>",
        "<ToDtTm>",
        "<Amt Ccy=\"AUD\">",
        "<CdtDbtInd>CRDT</CdtDbtInd>",
        "<CdtDbtInd>DBIT</CdtDbtInd>",
        "<BookgDt><Dt>2026-01-01</Dt></BookgDt>",
        "<BkTxCd><Prtry><Cd>capture</Cd></Prtry></BkTxCd>",
        "<Refs><EndToEndId>ch_1</EndToEndId></Refs>",
        "<TxsSummry><TtlNtries><NbOfNtries>",
        "<Sts>BOOK</Sts>",
        "<![CDATA[",
        "]]>",
        "&amp;",
        "&#65;",
        "<!DOCTYPE",
        "T23:59:59+10:00",
        "T23:59:60Z",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    let entry = "<Ntry><Amt Ccy=\"AUD\">4.5</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-01-01</Dt></BookgDt>\
         <BkTxCd><Prtry><Cd>capture</Cd></Prtry></BkTxCd><NtryDtls><TxDtls><Refs><EndToEndId>ch_1</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>";
    let two = "<Ntry><Amt Ccy='JPY'>700</Amt><CdtDbtInd>DBIT</CdtDbtInd><NtryDtls><TxDtls><Refs><EndToEndId>rf_1:refund</EndToEndId></Refs>\
         <AmtDtls><TxAmt><Amt Ccy='JPY'>300</Amt></TxAmt></AmtDtls><BkTxCd><Prtry><Cd>refund</Cd></Prtry></BkTxCd>\
         <RltdDts><TxDtTm>2026-01-01T23:00:00+10:00</TxDtTm></RltdDts></TxDtls><TxDtls><Refs><EndToEndId>ch_1</EndToEndId></Refs>\
         <Amt Ccy='JPY'>400.0</Amt><BkTxCd><Prtry><Cd>chargeback</Cd></Prtry></BkTxCd>\
         <RltdDts><TxDtTm>2026-01-01T01:00:00Z</TxDtTm></RltdDts></TxDtls></NtryDtls></Ntry>";
    let document = |head: &str, entries: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<d:Document xmlns:d=\"urn:x\"><BkToCstmrStmt><Stmt><Id>s &amp; 1</Id>{head}{entries}</Stmt></BkToCstmrStmt></d:Document>"
        )
    };
    let period = "<FrToDt><FrDtTm>2026-01-01T00:00:00</FrDtTm><ToDtTm>2026-01-01T23:59:59</ToDtTm></FrToDt>\
         <TxsSummry><TtlNtries><NbOfNtries>2</NbOfNtries></TtlNtries></TxsSummry>";
    let mut samples = inputs([
        "type,reference,amount,currency,day\nstatement,s1,,,2026-01-01\ncapture,ch_1:charge,400,AUD,2026-01-01\n\
         refund,\"rf_1,\"\"x\"\":refund\",100,JPY,2026-01-02\nfee,f,1,USD,2026-01-01\nend,s1,3,,2026-01-02\n",
        "type,reference,amount,currency,day\ncapture,early,1,AUD,2026-01-01\nstatement,s1,,,2026-01-01\npayment,,-1,aud,2026-1-1\n\
         capture,4200000000000000,400,AUD,2026-01-01\nstatement,s2,,,2026-01-01\nend,s2,4,,2026-01-02\ncapture,late,1,AUD,2026-01-01\n",
    ]);
    samples.push(document(period, &[entry, two].concat()).into());
    samples.push(document("", entry).into());
    samples
}

/// What is read of a file: movements, faults, and its heading.
type Statement = (Vec<Line>, Vec<Fault>, Option<Heading>);

fn read(input: impl Read) -> Statement {
    let mut reader = StatementReader::new(input).expect("memory can be read");
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    while let Some(next) = reader.next_line() {
        match next {
            Ok((_, line)) => lines.push(line),
            Err(found) => {
                assert!(!found.is_empty(), "what is refused is refused for a reason");
                faults.extend(found);
            }
        }
    }
    let heading = reader.heading().map_err(|found| faults.extend(found)).ok();
    (lines, faults, heading)
}

/// Gives a byte at a time.
struct Slowly<'i>(&'i [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(1);
        self.0.read(&mut into[..most])
    }
}

fn hold(input: &[u8]) {
    let statement = read(input);
    assert_eq!(read(Slowly(input)), statement, "it does not matter in which pieces a file is read");
    let (lines, faults, heading) = statement;
    let last = 1 + input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    for fault in &faults {
        assert!((1..=last).contains(&fault.line) && !fault.message.is_empty(), "{fault:?} of {last} lines");
    }
    for line in &lines {
        assert!((1..=STATEMENT_AMOUNT_MAX).contains(&line.amount), "{line:?}");
    }
    let Some(heading) = heading.filter(|_| faults.is_empty()) else {
        assert!(!faults.is_empty(), "a file without a heading is refused");
        return;
    };
    let days = heading.period.last_day.number() - heading.period.first_day.number() + 1;
    assert!(
        (1..=STATEMENT_DAYS_MAX).contains(&days) && heading.period.from < heading.period.until,
        "{heading:?}"
    );
    assert_eq!(i64::try_from(lines.len()), Ok(heading.lines), "{heading:?}");
    if lines.iter().all(|line| line.zone == Zone::UTC)
        && heading.period
            == acquirer::statement::Period::of_days(heading.period.first_day, heading.period.last_day)
    {
        let written = write(&lines, &heading);
        let (again, faults, same) = read(written.as_slice());
        assert_eq!(
            (again, faults, same),
            (lines, Vec::new(), Some(heading)),
            "a statement is read as it is written"
        );
    }
}

fn write(lines: &[Line], heading: &Heading) -> Vec<u8> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    let [first, last] = [heading.period.first_day, heading.period.last_day].map(|day| day.date().to_string());
    let (name, count) = (heading.name.as_str(), lines.len().to_string());
    let mut row = |fields: [&str; 5]| rows.write_record(fields).expect("memory");
    row(["type", "reference", "amount", "currency", "day"]);
    row(["statement", name, "", "", &first]);
    for line in lines {
        let (amount, day) = (line.amount.to_string(), line.day.date().to_string());
        row([line.movement.code(), &line.reference, &amount, line.currency.code(), &day]);
    }
    row(["end", name, &count, "", &last]);
    rows.into_inner().expect("memory")
}
