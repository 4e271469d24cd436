/** The report provider refused or failed. The message is a sentence for the operator, without secrets. */
export class ProviderRefusal extends Error {
  /** The same call may succeed later. */
  readonly mayPass: boolean;
  /** Time until the quota allows another call; 0 if the quota is not the cause. */
  readonly quotaMs: number;

  constructor(message: string, { mayPass = false, quotaMs = 0 } = {}) {
    super(message);
    this.mayPass = mayPass;
    this.quotaMs = quotaMs;
  }
}
