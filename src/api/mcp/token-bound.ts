// Tokens of a text, estimated from above. Tokenizers differ, and none of them is needed here: bytes alone do not tell, because
// JSON with many numbers takes a token for 2 bytes, and English text one for 4 or 5.

/** Characters of a kind that a token holds within a run of them. A run has whole tokens. */
const PER_TOKEN = {
  lower: 4,
  upper: 2,
  digit: 3,
  /** Punctuation of JSON, such as `"],["`. */
  mark: 3,
  space: 8,
  /** Letters of Europe outside ASCII: Latin with accents, Greek, Cyrillic. */
  european: 1,
  /** Chinese, Japanese, Korean, Arabic, Thai and others; an emoji is two of them. */
  other: 2 / 3,
};

type Kind = keyof typeof PER_TOKEN;

/** Covers random letters, such as those of ASINs and file names, which have fewer characters in a token than words. */
const MARGIN = 1.12;

/**
 * Returns at least the number of tokens of a text in usual tokenizers (o200k, cl100k), by its runs of letters, digits and
 * punctuation. For English text it is half more than the number, for JSON with numbers and ids a tenth.
 */
export function tokensIn(text: string): number {
  let tokens = 0;
  let kind: Kind | null = null;
  let length = 0;
  const endRun = () => {
    if (kind !== null) tokens += Math.ceil(length / PER_TOKEN[kind]);
  };
  for (let i = 0; i < text.length; i += 1) {
    const next = kindOf(text.charCodeAt(i));
    // A capital belongs to the word that it begins.
    const continues = next === kind || (next === 'lower' && kind === 'upper' && length === 1);
    if (continues) {
      kind = next;
      length += 1;
      continue;
    }
    // A single blank is a part of the token after it.
    if (kind !== 'space' || length > 1) endRun();
    kind = next;
    length = 1;
  }
  endRun();
  return Math.ceil(tokens * MARGIN);
}

function kindOf(code: number): Kind {
  if (code >= 0x61 && code <= 0x7a) return 'lower';
  if (code >= 0x30 && code <= 0x39) return 'digit';
  if (code >= 0x41 && code <= 0x5a) return 'upper';
  if (code === 0x20) return 'space';
  if (code < 0x80) return 'mark';
  return code < 0x590 ? 'european' : 'other';
}
