import type { OwnServers } from '../own-servers.ts';
import type { Target } from '../target.ts';
import type { Attacker } from './attacker.ts';
import type { SecondAccount } from './second-account.ts';

/** The answers of the attacked gateway, counted by status. `none` counts connections that ended without an answer. */
export type Answers = Record<string, number>;

/** A whole service under attack, with the process that attacks it. */
export interface Scene {
  target: Target;
  servers: OwnServers;
  attacker: Attacker;
  secondAccount: SecondAccount;
}

/** The findings of a case, in addition to the answers and the times of the second account. */
export interface Verdict {
  /** Facts to print in the line of the case. */
  notes: readonly string[];
  /** Broken promises. */
  faults: readonly string[];
}

export interface PreparedAttack {
  /** Attacks for about 15 seconds. */
  attack(): Promise<Answers>;
  /** Judges the results when the attack is over. */
  judge?(answers: Answers): Promise<Verdict> | Verdict;
  /** The attack stops a store, so that calls of the second account are refused; `judge` says what is right instead. */
  stopsStore?: boolean;
  /** The most memory that the gateway may take in addition, in MiB. */
  gatewayGrowthMib?: number;
  /** The most memory that Redis may take in addition, in MiB. */
  redisGrowthMib?: number;
}

export interface AttackCase {
  name: string;
  /** What the attacker does, in the third person. */
  what: string;
  prepare(scene: Scene): Promise<PreparedAttack>;
}
