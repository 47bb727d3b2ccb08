import { Component, type ErrorInfo, type ReactNode } from "react";
import i18next from "i18next";

interface Props {
  children: ReactNode;
}

/** A part that breaks says so in its own place; the rest of the page works on. */
export class Guard extends Component<Props, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error("A part of the page broke", error, info.componentStack);
  }

  override render(): ReactNode {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="full-note" role="alert">
        <h1>{i18next.t("shell:crashed")}</h1>
        <p className="t2">{i18next.t("shell:crashedText")}</p>
        <button className="btn primary" onClick={() => window.location.reload()}>{i18next.t("shell:reload")}</button>
      </div>
    );
  }
}
