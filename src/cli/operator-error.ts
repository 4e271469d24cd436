/** The command cannot be executed. The message says why. */
export class OperatorError extends Error {}
