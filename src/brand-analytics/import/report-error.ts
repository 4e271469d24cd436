/** A report cannot be imported. The message is a sentence that says where in the file and why. */
export class ReportError extends Error {}

/** @param line of the file, from 1. */
export function badLine(line: number, reason: string): ReportError {
  return new ReportError(`Line ${line}: ${reason}.`);
}
