import type { LockStore, Share } from '../stores/lock-store.js';
import type { BackoffRange } from './backoff.js';
import { parseDuration, type DurationRule } from './duration.js';
import type { ReplicaDemand } from '../stores/lock-store.js';
import { DEFAULTS, type LockDefaults, type LockOptions } from './lock-options.js';
import { LockArgumentError } from './lock.errors.js';
import { refuse } from './refuse.js';
import { refuseShares, shareOf } from './share-settings.js';

/** The options of one acquisition, checked and in ms. */
export interface LockSettings {
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly renew: boolean;
  readonly minHoldMs: number;
  readonly maxHoldMs: number;
  readonly maxWaiters: number;
  readonly fair: boolean;
  readonly reentrant: boolean;
  readonly onLost: 'throw' | 'warn';
  readonly replicas: ReplicaDemand | undefined;
  /** Undefined: the whole lock. */
  readonly share: Share | undefined;
}

export interface ClientSettings {
  readonly prefix: string;
  readonly enabled: boolean;
  readonly commandTimeoutMs: number;
  readonly backoff: BackoffRange;
  readonly drainMs: number;
  readonly nodeTimeoutMs: number;
  readonly fencing: boolean;
  readonly lock: LockSettings;
}

const DURATIONS = {
  ttl: { min: 1 },
  wait: { min: 0, infinite: true },
  minHold: { min: 0 },
  maxHold: { min: 1, infinite: true },
  commandTimeout: { min: 1 },
  'replicas.timeout': { min: 1 },
  nodeTimeout: { min: 1 },
  'backoff.initial': { min: 1 },
  'backoff.max': { min: 1 },
  'shutdown.drain': { min: 0 },
} satisfies Record<string, DurationRule>;

const LOCK_OPTION_NAMES = [
  'ttl',
  'wait',
  'signal',
  'renew',
  'minHold',
  'maxHold',
  'maxWaiters',
  'fair',
  'reentrant',
  'onLost',
  'replicas',
  'permits',
  'take',
  'mode',
];
/** What belongs to one acquisition only. */
const NO_DEFAULTS = ['signal', 'permits', 'take', 'mode'];

const CLIENT_OPTION_NAMES = [
  ...LOCK_OPTION_NAMES.filter((name) => !NO_DEFAULTS.includes(name)),
  'prefix',
  'enabled',
  'commandTimeout',
  'nodeTimeout',
  'fencing',
  'backoff',
  'shutdown',
];
const PREFIX = /^[A-Za-z0-9_.:-]+$/;

/**
 * Checks what a client was given. `owner` names it in messages; `extra` are option names that a layer above knows.
 * @throws LockArgumentError
 */
export function resolveClientSettings(
  options: LockDefaults,
  owner: string,
  extra: readonly string[] = [],
): ClientSettings {
  refuseUnknown(options, [...CLIENT_OPTION_NAMES, ...extra], owner);
  const { prefix = DEFAULTS.prefix, backoff = {}, shutdown = {} } = options;
  refuseUnknown(backoff, ['initial', 'max'], owner, 'backoff.');
  refuseUnknown(shutdown, ['drain'], owner, 'shutdown.');
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) {
    throw new LockArgumentError(
      `${owner}: option "prefix" is ${JSON.stringify(prefix)}, but may have letters, digits and _ . : - only.`,
      owner,
    );
  }
  const initialMs = duration('backoff.initial', orDefault(backoff.initial, DEFAULTS.backoff.initial), owner);
  return {
    prefix,
    enabled: flag('enabled', orDefault(options.enabled, DEFAULTS.enabled), owner),
    commandTimeoutMs: duration('commandTimeout', orDefault(options.commandTimeout, DEFAULTS.commandTimeout), owner),
    backoff: {
      initialMs,
      maxMs: Math.max(initialMs, duration('backoff.max', orDefault(backoff.max, DEFAULTS.backoff.max), owner)),
    },
    nodeTimeoutMs: duration('nodeTimeout', orDefault(options.nodeTimeout, DEFAULTS.nodeTimeout), owner),
    fencing: flag('fencing', orDefault(options.fencing, DEFAULTS.fencing), owner),
    drainMs: duration('shutdown.drain', orDefault(shutdown.drain, DEFAULTS.shutdown.drain), owner),
    lock: settingsOf(options, FACTORY_SETTINGS, owner),
  };
}

/** The settings that follow from the defaults alone. */
export const FACTORY_SETTINGS: LockSettings = {
  ttlMs: DEFAULTS.ttl,
  waitMs: DEFAULTS.wait,
  signal: undefined,
  renew: DEFAULTS.renew,
  minHoldMs: DEFAULTS.minHold,
  maxHoldMs: DEFAULTS.maxHold,
  maxWaiters: DEFAULTS.maxWaiters,
  fair: DEFAULTS.fair,
  reentrant: DEFAULTS.reentrant,
  onLost: DEFAULTS.onLost,
  replicas: undefined,
  share: undefined,
};

/**
 * Checks the options of one acquisition against the defaults of its client. `lock` names it in messages; `extra` are
 * option names that a layer above knows.
 * @throws LockArgumentError that names the option and the lock.
 */
export function resolveLockSettings(
  options: LockOptions | undefined,
  defaults: LockSettings,
  lock: string,
  extra: readonly string[] = [],
): LockSettings {
  if (options === undefined) return defaults;
  refuseUnknown(options, [...LOCK_OPTION_NAMES, ...extra], `Lock "${lock}"`);
  return settingsOf(options, defaults, lock);
}

function settingsOf(options: LockOptions, defaults: LockSettings, lock: string): LockSettings {
  const ttlMs = options.ttl === undefined ? defaults.ttlMs : duration('ttl', options.ttl, lock);
  const settings: LockSettings = {
    ttlMs,
    waitMs: options.wait === undefined ? defaults.waitMs : duration('wait', options.wait, lock),
    signal: signalOf(options.signal, lock),
    renew: flag('renew', orDefault(options.renew, defaults.renew), lock),
    minHoldMs: options.minHold === undefined ? defaults.minHoldMs : duration('minHold', options.minHold, lock),
    maxHoldMs: options.maxHold === undefined ? defaults.maxHoldMs : duration('maxHold', options.maxHold, lock),
    maxWaiters: waiters(orDefault(options.maxWaiters, defaults.maxWaiters), lock),
    fair: flag('fair', orDefault(options.fair, defaults.fair), lock),
    reentrant: flag('reentrant', orDefault(options.reentrant, defaults.reentrant), lock),
    onLost: onLost(orDefault(options.onLost, defaults.onLost), lock),
    replicas: options.replicas === undefined ? defaults.replicas : replicas(options.replicas, lock),
    share: shareOf(options, lock),
  };
  if (settings.minHoldMs > settings.maxHoldMs) {
    refuse('minHold', settings.minHoldMs, `at most "maxHold", ${settings.maxHoldMs} ms`, lock);
  }
  return settings;
}

/** @throws LockArgumentError when the store cannot do what is asked for. */
export function refuseLacking(
  store: Partial<LockStore>,
  { fair, replicas: demand, share }: LockSettings,
  lock: string,
): void {
  const { lacks } = store;
  if (fair && lacks?.includes('fair')) {
    refuse('fair', fair, 'false, as a fair order does not exist over several nodes', lock);
  }
  if (share) refuseShares(store, lock);
  if (demand && lacks?.includes('replicas')) {
    refuse('replicas', demand, 'false, as a majority of independent nodes has the lock already', lock);
  }
}

/** The lease that an acquisition asks for, in ms. */
export function leaseOf({ ttlMs, minHoldMs }: LockSettings): number {
  return Math.max(ttlMs, minHoldMs);
}

/** A warning about a ttl that was probably meant in seconds. */
export function secondsWarning(ttl: unknown, lock: string): string | undefined {
  if (typeof ttl !== 'number' || ttl >= 1_000) return undefined;
  return `Lock "${lock}": ttl: ${ttl} is ${ttl} ms. If seconds were meant, write '${ttl}s'.`;
}

/** `null` is not "use the default": whoever passes it has lost a value on the way. */
function orDefault<T>(value: T | undefined, fallback: T): T {
  return value === undefined ? fallback : value;
}

function duration(option: keyof typeof DURATIONS, value: unknown, lock: string): number {
  return parseDuration(value, option, lock, DURATIONS[option]);
}

function flag(option: string, value: unknown, lock: string): boolean {
  return typeof value === 'boolean' ? value : refuse(option, value, 'true or false', lock);
}

function waiters(value: unknown, lock: string): number {
  if (value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 0)) return value as number;
  return refuse('maxWaiters', value, 'a whole number from 0, or Infinity', lock);
}

function onLost(value: unknown, lock: string): 'throw' | 'warn' {
  return value === 'throw' || value === 'warn' ? value : refuse('onLost', value, "'throw' or 'warn'", lock);
}

function replicas(value: unknown, lock: string): ReplicaDemand | undefined {
  if (value === false) return undefined;
  if (typeof value !== 'object' || value === null) return refuse('replicas', value, 'false or { ack, timeout }', lock);
  refuseUnknown(value, ['ack', 'timeout'], `Lock "${lock}"`, 'replicas.');
  const { ack, timeout } = value as { ack?: unknown; timeout?: unknown };
  if (ack !== 'quorum' && !(Number.isSafeInteger(ack) && (ack as number) >= 1)) {
    return refuse('replicas.ack', ack, "a whole number from 1, or 'quorum'", lock);
  }
  const timeoutMs = duration('replicas.timeout', orDefault(timeout, DEFAULTS['replicas.timeout']), lock);
  return { ack: ack as ReplicaDemand['ack'], timeoutMs };
}

function signalOf(value: unknown, lock: string): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const signal = value as AbortSignal;
  const usable = typeof signal === 'object' && signal !== null && 'aborted' in signal && 'addEventListener' in signal;
  return usable ? signal : refuse('signal', value, 'an AbortSignal', lock);
}

function refuseUnknown(options: object, known: readonly string[], owner: string, path = ''): void {
  if (typeof options !== 'object' || options === null) {
    throw new LockArgumentError(`${owner}: the options must be an object.`, owner);
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new LockArgumentError(
        `${owner}: there is no option "${path}${name}"; known are ${known.join(', ')}.`,
        owner,
      );
    }
  }
}
