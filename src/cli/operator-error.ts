/** What the operator asked for cannot be done. The message is a sentence that says why. */
export class OperatorError extends Error {}
