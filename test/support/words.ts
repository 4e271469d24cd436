/** Returns the words of a text, for long lists of names. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Returns the lines of a text, each with its cells between bars, for tables of many columns. */
export function rows(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
}
