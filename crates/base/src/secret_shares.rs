//! Shares of a secret: any of them that reach the threshold make up the secret, and fewer say nothing about it
//! (`docs/decisions.md`, 384).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blahaj::{Share, Sharks};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::hexadecimal;
use crate::random::random;
use crate::secret::Secret;

/// The beginning of a share, by which it is recognised in a safe.
const PREFIX: &str = "vault-share-";
/// The bytes that say which secret was split, when.
const SPLIT: usize = 4;
/// The bytes by which a mistyped share and a wrong secret are recognised.
const CHECK: usize = 4;

/// The reason why shares make up no secret. Positions are counted from 1, in the order in which the shares were entered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// A mistyped or cut-off share, or another text.
    #[error("share {0} is mistyped or no share")]
    NotAShare(usize),
    /// The same share, twice.
    #[error("share {0} was entered before: each custodian has another one")]
    Twice(usize),
    /// Shares are missing, or are shares of something else.
    #[error(
        "the key that was split as {split} needs {needed} of its shares, and has {entered}; shares of another split do not count"
    )]
    TooFew {
        /// The name of the split.
        split: String,
        /// The threshold.
        needed: u8,
        /// How many of its shares were entered.
        entered: usize,
    },
    /// Every share is well-formed, but one of them was forged.
    #[error("the shares of the split {0} do not fit together: one of them is wrong")]
    Wrong(String),
    /// No share at all.
    #[error("there is no share")]
    None,
}

/// Splits a secret into shares, of which `threshold` make it up again. Each is a line of text.
pub fn split(secret: &Secret, shares: u8, threshold: u8) -> Vec<Secret> {
    let name: [u8; SPLIT] = random();
    let secret = secret.expose().as_bytes();
    let sealed = Zeroizing::new([secret, &check(secret)].concat());
    let dealt = Sharks(threshold).dealer(&sealed).take(usize::from(shares));
    dealt.map(|share| text(name, threshold, &Zeroizing::new(Vec::from(&share)))).collect()
}

fn text(name: [u8; SPLIT], threshold: u8, share: &[u8]) -> Secret {
    let mut bytes = Zeroizing::new([&name, &[threshold][..], share].concat());
    let check = check(&bytes);
    bytes.extend_from_slice(&check);
    (PREFIX.to_owned() + &*Zeroizing::new(URL_SAFE_NO_PAD.encode(&*bytes))).into()
}

/// A share, as it was entered.
struct EnteredShare {
    name: [u8; SPLIT],
    threshold: u8,
    share: Zeroizing<Vec<u8>>,
}

impl EnteredShare {
    fn parse(text: &Secret) -> Option<Self> {
        let encoded = text.expose().trim().strip_prefix(PREFIX)?;
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(encoded).ok()?);
        let (content, found) = bytes.split_at_checked(bytes.len().checked_sub(CHECK)?)?;
        let (name, [threshold, share @ ..]) = content.split_first_chunk()? else { return None };
        (check(content) == found && !share.is_empty()).then(|| Self {
            name: *name,
            threshold: *threshold,
            share: Zeroizing::new(share.to_vec()),
        })
    }
}

/// Combines shares into the secrets that were split, joined by commas, in the order of their first shares.
pub fn combine(texts: &[Secret]) -> Result<Secret, ShareError> {
    let mut splits: Vec<([u8; SPLIT], Vec<EnteredShare>)> = Vec::new();
    for (text, position) in texts.iter().zip(1..) {
        let entered = EnteredShare::parse(text).ok_or(ShareError::NotAShare(position))?;
        match splits.iter_mut().find(|(name, _)| *name == entered.name) {
            Some((_, shares)) if shares.iter().any(|share| share.share == entered.share) => {
                return Err(ShareError::Twice(position));
            }
            Some((_, shares)) => shares.push(entered),
            None => splits.push((entered.name, vec![entered])),
        }
    }
    if splits.is_empty() {
        return Err(ShareError::None);
    }
    let mut secrets = Zeroizing::new(String::new());
    for (name, shares) in splits {
        if !secrets.is_empty() {
            secrets.push(',');
        }
        secrets.push_str(&recover(name, &shares)?);
    }
    Ok(secrets.as_str().into())
}

fn recover(name: [u8; SPLIT], shares: &[EnteredShare]) -> Result<Zeroizing<String>, ShareError> {
    let split = hexadecimal::encode(&name);
    let threshold = shares.iter().map(|share| share.threshold).max().unwrap_or_default();
    if shares.len() < usize::from(threshold) {
        return Err(ShareError::TooFew { split, needed: threshold, entered: shares.len() });
    }
    let parsed =
        shares.iter().map(|share| Share::try_from(share.share.as_slice())).collect::<Result<Vec<_>, _>>();
    let scheme = Sharks(threshold);
    let sealed =
        parsed.ok().and_then(|shares| scheme.recover(&shares).ok()).map(Zeroizing::new).unwrap_or_default();
    let secret = sealed.split_last_chunk::<CHECK>().filter(|(secret, found)| check(secret) == **found);
    let secret = secret.and_then(|(secret, _)| std::str::from_utf8(secret).ok());
    secret.map(|secret| Zeroizing::new(secret.to_owned())).ok_or(ShareError::Wrong(split))
}

fn check(bytes: &[u8]) -> [u8; CHECK] {
    let hash = Sha256::digest(bytes);
    std::array::from_fn(|n| hash[n])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "own:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn combined(shares: &[&Secret]) -> Result<String, ShareError> {
        let shares: Vec<_> = shares.iter().map(|share| (*share).clone()).collect();
        combine(&shares).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn any_shares_that_reach_the_threshold_make_up_the_key_and_fewer_do_not() {
        let [a, b, c] = &split(&KEY.into(), 3, 2)[..] else { panic!("three shares") };
        for two in [[a, b], [b, a], [a, c], [c, b]] {
            assert_eq!(combined(&two).as_deref(), Ok(KEY));
        }
        assert_eq!(combined(&[c, a, b]).as_deref(), Ok(KEY));
        for one in [a, b, c] {
            let refused = combined(&[one]).expect_err("too few");
            assert!(matches!(refused, ShareError::TooFew { needed: 2, entered: 1, .. }), "{refused}");
        }
        assert_eq!(combined(&[]), Err(ShareError::None));
    }

    #[test]
    fn a_mistyped_share_is_named_at_every_character() {
        let [a, b] = &split(&KEY.into(), 2, 2)[..] else { panic!("two shares") };
        for at in 0..a.expose().len() {
            let mut mistyped = a.expose().to_owned();
            let other = if mistyped.as_bytes()[at] == b'x' { "y" } else { "x" };
            mistyped.replace_range(at..=at, other);
            assert_eq!(combined(&[b, &mistyped.as_str().into()]), Err(ShareError::NotAShare(2)), "{at}");
            assert_eq!(combined(&[&a.expose()[..at].into(), b]), Err(ShareError::NotAShare(1)), "{at}");
        }
        assert_eq!(combined(&[a, &format!(" {}\n", b.expose()).into()]).as_deref(), Ok(KEY));
    }

    #[test]
    fn a_share_that_is_entered_twice_or_belongs_to_another_split_is_told() {
        let ours = split(&KEY.into(), 3, 2);
        let others = split(&"other:key".into(), 3, 2);
        assert_eq!(combined(&[&ours[0], &ours[0]]), Err(ShareError::Twice(2)));
        let mixed = combined(&[&ours[0], &others[1]]).expect_err("of two splits").to_string();
        assert!(
            mixed.ends_with("needs 2 of its shares, and has 1; shares of another split do not count"),
            "{mixed}"
        );
        let both = combined(&[&ours[0], &others[1], &others[2], &ours[1]]);
        assert_eq!(both, Ok(format!("{KEY},other:key")));
    }

    #[test]
    fn a_forged_share_makes_up_no_key() {
        let shares = split(&KEY.into(), 2, 2);
        let EnteredShare { name, threshold, share } = EnteredShare::parse(&shares[1]).expect("a share");
        let mut forged = share.clone();
        forged[5] ^= 1;
        let forged = text(name, threshold, &forged);
        assert!(matches!(combined(&[&shares[0], &forged]), Err(ShareError::Wrong(_))));
    }
}
