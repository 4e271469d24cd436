import type { AttackCase, Scene } from '../attack-case.ts';

const UPLOAD_BYTES = 16 * 1_048_576;
const SECONDS = 15;

/** The budget of uploads of a gateway, and what Node.js needs to receive them. */
const GATEWAY_GROWTH_MIB = 512;

async function keysOf({ target }: Scene, name: string, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i += 1) keys.push((await target.account(`${name}-${i}`)).key);
  return keys;
}

export const uploads: AttackCase = {
  name: 'A3',
  what: 'sends 60 uploads of 16 MiB at the same time, with 30 keys',
  async prepare(scene) {
    const keys = await keysOf(scene, 'uploads', 30);
    return {
      attack: () =>
        scene.attacker.upload({
          gateway: scene.target.gateway,
          keys,
          parallel: 60,
          seconds: SECONDS,
          bytes: UPLOAD_BYTES,
          missingBytes: 0,
        }),
      gatewayGrowthMib: GATEWAY_GROWTH_MIB,
      redisGrowthMib: 1_024,
    };
  },
};

export const unfinishedUploads: AttackCase = {
  name: 'A3-unfinished',
  what: 'sends 330 uploads of 16 MiB without their last 1,000 bytes, with 165 keys',
  async prepare(scene) {
    const keys = await keysOf(scene, 'unfinished', 165);
    return {
      attack: () =>
        scene.attacker.upload({
          gateway: scene.target.gateway,
          keys,
          parallel: 330,
          seconds: SECONDS,
          bytes: UPLOAD_BYTES,
          missingBytes: 1_000,
        }),
      gatewayGrowthMib: GATEWAY_GROWTH_MIB,
      redisGrowthMib: 1_024,
    };
  },
};
