class CardPayments < Formula
  desc "Stateful card payments API server that works offline"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

@ARCHIVES@
  def install
    bin.install "card-payments"
    generate_completions_from_executable(bin/"card-payments", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/card-payments --version")
    system bin/"card-payments", "exec", "--", "true"
  end
end
