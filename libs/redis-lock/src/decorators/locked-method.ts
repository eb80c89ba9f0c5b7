import 'reflect-metadata';
import { Inject } from '@nestjs/common';
import { LockArgumentError } from '../lock/lock.errors.js';
import { LockService } from '../module/lock.service.js';
import type { Method } from './method-key.js';

/** What a wrapped method does instead of the original. */
export type LockedCall = (locks: LockService, call: () => unknown, args: readonly unknown[]) => unknown;

/** The property of an instance that Nest puts the service into. */
const LOCK_SERVICE = Symbol('LockService (import RedisLockModule.forRoot)');

/** The locks of the methods, inner ones first, by the prototype on which they were decorated. */
const lockedMethods = new WeakMap<object, Map<PropertyKey, LockedCall[]>>();

/** Wrapper → the method that it wraps. */
const originals = new WeakMap<object, Method>();

/** The method as it was written, under the wrappers of this library. */
export function unwrapped(method: Method): Method {
  const original = originals.get(method);
  return original ? unwrapped(original) : method;
}

/**
 * The method that a decorator stands over.
 * @throws LockArgumentError when it stands over something else.
 */
export function methodOf(
  decorator: string,
  target: object,
  name: PropertyKey,
  descriptor: PropertyDescriptor | undefined,
): Method {
  const where = `@${decorator} on ${nameOf(target)}.${String(name)}`;
  if (typeof target === 'function') {
    throw new LockArgumentError(
      `${where}: a static method belongs to no instance that Nest could give its service to; use LockService.`,
      where,
    );
  }
  if (typeof descriptor?.value !== 'function') {
    throw new LockArgumentError(`${where}: it can only stand over a method.`, where);
  }
  return descriptor.value as Method;
}

export function nameOf(target: object): string {
  return typeof target === 'function' ? target.name : target.constructor.name;
}

/**
 * Replaces a method when its class is defined, so that whoever finds the method later finds the locked one: a
 * scheduler, a router, a bus. The service comes in by property injection, so that two applications in one process stay
 * apart.
 */
export function replaceMethod(
  target: object,
  name: PropertyKey,
  descriptor: PropertyDescriptor,
  call: LockedCall,
): void {
  descriptor.value = wrap(nameOf(target), name, descriptor.value as Method, call);
  const locked = lockedMethods.get(target) ?? receiveService(target);
  locked.set(name, [...(locked.get(name) ?? []), call]);
}

/** Gives an instance that Nest did not build its service. */
export function attachLockService(instance: object, locks: unknown): void {
  if (!(LOCK_SERVICE in instance)) {
    throw new LockArgumentError(
      `attachLocks: ${nameOf(instance)} has no @Locked or @CronLocked method.`,
      nameOf(instance),
    );
  }
  Reflect.set(instance, LOCK_SERVICE, locks);
}

function receiveService(target: object): Map<PropertyKey, LockedCall[]> {
  const locked = new Map<PropertyKey, LockedCall[]>();
  lockedMethods.set(target, locked);
  if (!(LOCK_SERVICE in target)) Inject(LockService)(target, LOCK_SERVICE);
  Object.defineProperty(target, LOCK_SERVICE, {
    configurable: true,
    get: () => undefined,
    set(this: object, locks: LockService) {
      Object.defineProperty(this, LOCK_SERVICE, { value: locks, writable: true, configurable: true });
      lockOverrides(this);
    },
  });
  return locked;
}

/** A subclass that overrides a locked method without a decorator of its own inherits the lock. */
function lockOverrides(instance: object): void {
  const derived: object[] = [];
  for (
    let prototype = Object.getPrototypeOf(instance) as object | null;
    prototype;
    prototype = Object.getPrototypeOf(prototype) as object | null
  ) {
    for (const [name, calls] of lockedMethods.get(prototype) ?? []) {
      for (const override of derived) lockOverride(override, name, calls);
    }
    derived.push(prototype);
  }
}

function lockOverride(override: object, name: PropertyKey, calls: readonly LockedCall[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(override, name);
  if (typeof descriptor?.value !== 'function') return;
  if (originals.has(descriptor.value as Method) || lockedMethods.get(override)?.has(name)) return;
  const locked = calls.reduce((method, call) => wrap(nameOf(override), name, method, call), descriptor.value as Method);
  Object.defineProperty(override, name, { ...descriptor, value: locked });
}

function wrap(className: string, name: PropertyKey, original: Method, call: LockedCall): Method {
  const wrapper = function (this: object, ...args: never[]): unknown {
    const locks = (this as Partial<Record<symbol, LockService>> | undefined)?.[LOCK_SERVICE];
    if (!locks) throw notBuiltByNest(className, name);
    return call(locks, () => original.apply(this, args), args);
  };
  for (const key of Reflect.ownKeys(original)) {
    if (key === 'prototype' || key === 'arguments' || key === 'caller') continue;
    const property = Object.getOwnPropertyDescriptor(original, key);
    if (property) Object.defineProperty(wrapper, key, property);
  }
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
  originals.set(wrapper, original);
  return wrapper;
}

function notBuiltByNest(className: string, name: PropertyKey): LockArgumentError {
  const where = `${className}.${String(name)}`;
  return new LockArgumentError(
    `${where} is locked, but this instance has no LockService, because Nest did not build it (new, useFactory, or called without its "this"). ` +
      "Let Nest build the class, or give it the service with attachLocks(instance, locks) of 'nestjs-redis-lock/testing'.",
    where,
  );
}
