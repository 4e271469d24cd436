/** A report that cannot be imported. The message is a sentence with the position in the file and the reason. */
export class ReportError extends Error {}

/** @param line of the file, from 1. */
export function badLine(line: number, reason: string): ReportError {
  return new ReportError(`Line ${line}: ${reason}.`);
}
