//! The page at which the cardholder decides.

use super::*;

rules! {
    async fn the_page_is_readable_and_closed_to_everybody_else(app) {
        let client = app.client();
        app.execute("UPDATE accounts SET business_name = 'Tea & <b>\"Biscuits\"</b>'").await;
        let (_, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let shown = app.unchanged(open(app, &page)).await;
        assert_eq!(shown.status, 200);
        let (above, rest) = shown.text.split_once("<style>").unwrap();
        let (_, below) = rest.split_once("</style>").unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(format!("{above}{below}").replace("><", ">\n<"), @r#"
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Verify your payment</title>
            </head>
            <body>
            <main>
            <h1>Verify your payment</h1>
            <p>Your card's issuer asks you to confirm this payment.</p>
            <dl>
            <dt>Merchant</dt>
            <dd>Tea &amp; &lt;b&gt;&quot;Biscuits&quot;&lt;/b&gt;</dd>
            <dt>Amount</dt>
            <dd>AUD 4.00</dd>
            <dt>Card</dt>
            <dd>XXXX-XXXX-XXXX-0000</dd>
            </dl>
            <form method="post">
            <button name="decision" value="approve">Approve</button>
            <button class="other" name="decision" value="fail">Fail</button>
            </form>
            <p class="note">This is a test: the page stands in for an issuer's, and no money moves. Approve sends the charge on, Fail ends it.</p>
            </main>
            </body>
            </html>
            "#);
        }
        for absent in ["<script", "javascript:", "http:", "https:", "role=\"alert\"", "width:4"] {
            assert!(!shown.text.contains(absent), "{absent}");
        }
        let back = press(&client, &page, "decision=approve").await;
        for answer in [&shown, &back, &open(app, "/3d-secure/x").await] {
            let header = |name: &str| answer.headers[name].to_str().unwrap();
            assert_eq!(header("cache-control"), "no-store");
            assert_eq!(header("x-frame-options"), "DENY");
            assert_eq!(header("referrer-policy"), "no-referrer");
            assert_eq!(header("x-content-type-options"), "nosniff");
            let policy = header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && policy.contains("frame-ancestors 'none'"), "{policy}");
        }
        for (amount, currency, shown) in [(500, "JPY", "JPY 500"), (1_000_005, "IDR", "IDR 10000.05")] {
            let mut parameters = challenged(ENROLLED, &json!({}));
            parameters["amount"] = json!(amount);
            parameters["currency"] = json!(currency);
            let (_, page) = pending(&client, &parameters).await;
            assert!(open(app, &page).await.text.contains(&format!("<dd>{shown}</dd>")));
        }
    }
}
