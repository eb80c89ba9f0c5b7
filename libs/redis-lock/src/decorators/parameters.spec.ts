import { runInThisContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { parametersOf } from './parameters.js';

// Most sources are texts here, so that no compiler changes them before they are read.
type Callable = (...args: never[]) => unknown;

/** The parameters as a text: a name, `...name` for rest, `{…}` for one without a name. */
function read(method: Callable): string | undefined {
  return parametersOf(method)
    ?.map(({ name, rest }) => (rest ? '...' : '') + (name ?? '{…}'))
    .join(', ');
}

/** A method of a class with this body. */
function methodIn(body: string, name: string, isStatic = false): Callable {
  const source = `((key) => class extends class { m() {} } { ${body} })('computed')`;
  const type = runInThisContext(source) as { prototype: object };
  return Reflect.get(isStatic ? type : type.prototype, name) as Callable;
}

describe('parametersOf', () => {
  test.each([
    ['m() {}', 'm', ''],
    ['m(a) {}', 'm', 'a'],
    ['m(a, b,) {}', 'm', 'a, b'],
    ['async m(userId, voucherId) { await null; }', 'm', 'userId, voucherId'],
    ['*m(a, b) { yield a; }', 'm', 'a, b'],
    ['async *m(a, b) { yield await a; }', 'm', 'a, b'],
    ['async m(a) { for await (const b of a) await b; }', 'm', 'a'],
  ])('reads a method: %s', (source, name, expected) => {
    expect(read(methodIn(source, name))).toBe(expected);
  });

  test.each([
    ['get(a) {}', 'get', 'a'],
    ['set(a, b) {}', 'set', 'a, b'],
    ['async(a) {}', 'async', 'a'],
    ['async async(a) {}', 'async', 'a'],
    ['static(a) {}', 'static', 'a'],
    ['function(a) {}', 'function', 'a'],
    ['async function(a) {}', 'function', 'a'],
    ['class(a) {}', 'class', 'a'],
    ['delete(a) {}', 'delete', 'a'],
    ['of(a) {}', 'of', 'a'],
    ['await(a) {}', 'await', 'a'],
    ['yield(a) {}', 'yield', 'a'],
    ['$(a) {}', '$', 'a'],
    ['订单(用户) {}', '订单', '用户'],
    ['"a-b"(a) {}', 'a-b', 'a'],
    ['"a) { ("(b) {}', 'a) { (', 'b'],
    ['12(a) {}', '12', 'a'],
    ['[key](a) {}', 'computed', 'a'],
    ['async [key + (() => ")")()](a) {}', 'computed)', 'a'],
    ['*[`${key}`](a) {}', 'computed', 'a'],
    ['[Symbol.iterator.toString()](a) {}', 'Symbol(Symbol.iterator)', 'a'],
  ])('is not misled by the name of the method: %s', (source, name, expected) => {
    expect(read(methodIn(source, name))).toBe(expected);
  });

  test.each([
    ['static m(a) {}', 'm', 'a'],
    ['static async *m(a, b) {}', 'm', 'a, b'],
    ['static static(a) {}', 'static', 'a'],
    ['static async(a) {}', 'async', 'a'],
  ])('reads a static method: %s', (source, name, expected) => {
    expect(read(methodIn(source, name, true))).toBe(expected);
  });

  test.each([
    ['m(a = 1, b) {}', 'a, b'],
    ['m(a = ")", b = "(", c) {}', 'a, b, c'],
    ["m(a = ', x', b = '\\'),', c) {}", 'a, b, c'],
    ['m(a = `) { ${[1, 2].join(", ")} (`, b) {}', 'a, b'],
    ['m(a = /[),(]/, b = /\\)/.source, c) {}', 'a, b, c'],
    ['m(a = (1, 2), b = [1, 2], c = { d: 1, e: 2 }, f) {}', 'a, b, c, f'],
    ['m(a = (x, y) => x, b = function (p, q) {}, c = class { d(r, s) {} }, e) {}', 'a, b, c, e'],
    ['m(a, b = a, c = this.m(a, b)) {}', 'a, b, c'],
    ['m(a = super.m(1, 2), b) {}', 'a, b'],
  ])('is not misled by a default: %s', (source, expected) => {
    expect(read(methodIn(source, 'm'))).toBe(expected);
  });

  test.each([
    ['m(/* a, */ b /* , c) { */, d) {}', 'b, d'],
    ['m(a, // the user, (not) the buyer\n b) {}', 'a, b'],
    ['m /* (x) */ (/**/ a /**/) /* ) */ {}', 'a'],
    ['/* m(x) */ m(a) { /* ) */ }', 'a'],
    ['m(a = 1 /* = 2, z */, b) {}', 'a, b'],
    ['m(\n  a,\n\n  b,\n) {}', 'a, b'],
  ])('is not misled by comments and line breaks: %j', (source, expected) => {
    expect(read(methodIn(source, 'm'))).toBe(expected);
  });

  test.each([
    ['m({ a, b }) {}', '{…}'],
    ['m([a, b], c) {}', '{…}, c'],
    ['m({ a: { b } = {}, ...c } = {}, d) {}', '{…}, d'],
    ['m({ a = ")" }, b) {}', '{…}, b'],
    ['m(a, { b }, [c], d = 1) {}', 'a, {…}, {…}, d'],
  ])('gives a destructured parameter no name: %s', (source, expected) => {
    expect(read(methodIn(source, 'm'))).toBe(expected);
  });

  test.each([
    ['m(...a) {}', '...a'],
    ['m(a, ...b) {}', 'a, ...b'],
    ['m(a, ...[b, c]) {}', 'a, ...{…}'],
    ['m(a, ...{ length }) {}', 'a, ...{…}'],
  ])('knows a rest parameter: %s', (source, expected) => {
    expect(read(methodIn(source, 'm'))).toBe(expected);
  });

  test.each([
    ['#p; m(a) { return this.#p; }', 'a'],
    ['#p; m(a) { return #p in a; }', 'a'],
    ['#p() {} m(a, b = this.#p()) { this.#p(a); }', 'a, b'],
    ['static #p = 1; m(a) { return a.constructor.#p; }', 'a'],
    ['m(a) { return super.m(a); }', 'a'],
    ['m(a) { return () => super.m(a); }', 'a'],
    ['async m(a) { return super["m"](await a); }', 'a'],
    ['m(a) { return new.target; }', 'a'],
    ['m(a) { return arguments.length; }', 'a'],
    ['m(a) { return class { #q; n(b) { return this.#q; } static { this.c = 1; } }; }', 'a'],
    ['m(a) { return a?.b ?? (a ||= 1) ** 2n; }', 'a'],
    ['async m(a) { return import("node:fs"); }', 'a'],
    ['m(a) { try { throw a; } catch { return /(?<year>\\d)/v; } }', 'a'],
    ['m(a) { label: for (;;) break label; }', 'a'],
    ['m(a) { return "\\u{1F4B0}" + `${`${a}`}`; }', 'a'],
  ])('is not misled by the body: %s', (source, expected) => {
    expect(read(methodIn(source, 'm'))).toBe(expected);
  });

  test('reads a method that asks for its module', () => {
    class Templates {
      async m(userId: number): Promise<string> {
        return `${import.meta.url}#${userId}`;
      }
    }
    expect(read(Reflect.get(Templates.prototype, 'm'))).toBe('userId');
  });

  test.each([
    ['(a, b) => a', 'a, b'],
    ['a => a', 'a'],
    ['async a => a', 'a'],
    ['async (a, b) => a', 'a, b'],
    ['(a = ")", { b }, ...c) => ({ a })', 'a, {…}, ...c'],
    ['() => {}', ''],
    ['function (a, b) {}', 'a, b'],
    ['function named(a) {}', 'a'],
    ['function* (a) { yield a; }', 'a'],
    ['async function (a) { await a; }', 'a'],
    ['async function named(a) { await a; }', 'a'],
    ['async function* named(a) {}', 'a'],
    ['({ m(a) {} }).m', 'a'],
    ['({ async *m(a) {} }).m', 'a'],
    ['Object.getOwnPropertyDescriptor({ set m(a) {} }, "m").set', 'a'],
    ['Object.getOwnPropertyDescriptor({ get m() { return 1; } }, "m").get', ''],
  ])('reads a function of another form: %s', (source, expected) => {
    expect(read(runInThisContext(`(${source})`) as Callable)).toBe(expected);
  });

  test.each([
    ['bound', ((a: number) => a).bind(null)],
    ['native', Math.max],
    ['native method', Array.prototype.map],
    ['native with a computed name', Array.prototype[Symbol.iterator]],
    ['proxy', new Proxy((a: number) => a, {})],
    ['class', class {} as unknown as Callable],
    [
      'class with a constructor',
      class {
        constructor(readonly a: number) {}
      } as unknown as Callable,
    ],
  ])('knows nothing of what has no source of a function: %s', (_, method) => {
    expect(parametersOf(method)).toBeUndefined();
  });
});
