/** Normalises a term for comparison: NFC, lower case, no control characters, single blanks. */
export function normaliseTerm(text: string): string {
  const plain = SIMPLE.test(text) ? text : text.replace(BLANKS, ' ').trim().normalize('NFC');
  return plain.toLowerCase();
}

/** Matches printable ASCII with single blanks, which nearly all terms are: they need no normalisation but lower case. */
const SIMPLE = /^[!-~]+(?: [!-~]+)*$/;

const BLANKS = /[\s\p{Cc}\p{Cs}]+/gu;
