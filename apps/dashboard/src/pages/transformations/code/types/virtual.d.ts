declare module "virtual:type-checker" {
  const api: import("./checked-code.js").CheckerApi;
  export const {
    createSourceFile,
    createTypeChecker,
    flattenDiagnosticMessageText,
    forEachChild,
    getTokenPosOfNode,
    idText,
    isIdentifier,
    isPropertyAccessExpression,
    symbolName,
  }: typeof api;
}

declare module "virtual:type-library" {
  const texts: { readonly [name: string]: string };
  export default texts;
}
