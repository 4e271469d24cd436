/** The provider of reports has not given one. The message is a sentence for the operator, and holds no secret. */
export class ProviderRefusal extends Error {
  /** The same call may succeed in a while. */
  readonly mayPass: boolean;
  /** How long it takes until the quota has room for another call; 0 where the quota is not what is wrong. */
  readonly quotaMs: number;

  constructor(message: string, { mayPass = false, quotaMs = 0 } = {}) {
    super(message);
    this.mayPass = mayPass;
    this.quotaMs = quotaMs;
  }
}
