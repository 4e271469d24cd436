/** The form in which a term is one and the same: NFC, lower case, without control characters, blanks collapsed. */
export function normaliseTerm(text: string): string {
  const plain = SIMPLE.test(text) ? text : text.replace(BLANKS, ' ').trim().normalize('NFC');
  return plain.toLowerCase();
}

/** Nearly all terms: printable ASCII with single blanks inside. */
const SIMPLE = /^[!-~]+(?: [!-~]+)*$/;

const BLANKS = /[\s\p{Cc}\p{Cs}]+/gu;
