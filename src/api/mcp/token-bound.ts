// Tokens of a text, estimated from above. Tokenizers differ, and none of them is needed here: bytes alone do not tell, because
// JSON with many numbers takes a token for 2 bytes, and English text one for 4 or 5.

/** What a character adds to a run of its kind. A new run starts with a whole token. */
interface Kind {
  /** Characters that a token holds within a run of this kind. */
  perToken: number;
}

const KINDS = {
  lower: { perToken: 4 },
  upper: { perToken: 2 },
  digit: { perToken: 3 },
  /** Punctuation of JSON, such as `"],["`. */
  mark: { perToken: 3 },
  space: { perToken: 8 },
  /** Letters of Europe outside ASCII: Latin with accents, Greek, Cyrillic. */
  european: { perToken: 1.5 },
  /** Chinese, Japanese, Korean, Arabic, Thai and others; an emoji is two of them. */
  other: { perToken: 2 / 3 },
} as const satisfies Record<string, Kind>;

type KindName = keyof typeof KINDS;

/**
 * Returns at least the number of tokens of a text in usual tokenizers (o200k, cl100k), by its runs of letters, digits and
 * punctuation. For English text it is up to half more than the number, for JSON with numbers about a fifth.
 */
export function tokensIn(text: string): number {
  let tokens = 0;
  let kind: KindName | null = null;
  let length = 0;
  const endRun = () => {
    if (kind !== null) tokens += Math.ceil(length / KINDS[kind].perToken);
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
  return tokens;
}

function kindOf(code: number): KindName {
  if (code >= 0x61 && code <= 0x7a) return 'lower';
  if (code >= 0x30 && code <= 0x39) return 'digit';
  if (code >= 0x41 && code <= 0x5a) return 'upper';
  if (code === 0x20) return 'space';
  if (code < 0x80) return 'mark';
  return code < 0x590 ? 'european' : 'other';
}
